package dev.ironclaw.memory.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What placeholders stand for while a scenario runs, and how long texts are written out. */
final class Values {
  private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{([^}]+)}");
  private static final String TODAY = "today:";

  private final Map<String, String> saved = new HashMap<>();

  static String today(String zone) {
    return LocalDate.now(ZoneId.of(zone)).toString();
  }

  void save(String name, String value) {
    saved.put(name, value);
  }

  /**
   * Returns the value with everything written out.
   *
   * @throws Mismatch a placeholder names nothing that was saved
   */
  JsonElement resolve(JsonElement value) {
    if (Json.isText(value)) {
      Matcher found = PLACEHOLDER.matcher(value.getAsString());
      return new JsonPrimitive(
          found.replaceAll(match -> Matcher.quoteReplacement(standsFor(match.group(1)))));
    }
    if (value instanceof JsonArray array) {
      JsonArray resolved = new JsonArray();
      array.forEach(element -> resolved.add(resolve(element)));
      return resolved;
    }
    return value instanceof JsonObject object ? resolveObject(object) : value;
  }

  private JsonElement resolveObject(JsonObject object) {
    if (object.keySet().equals(Set.of("$repeat"))) {
      JsonArray repeat = object.getAsJsonArray("$repeat");
      String text = resolve(repeat.get(0)).getAsString();
      return new JsonPrimitive(text.repeat(repeat.get(1).getAsInt()));
    }
    if (object.keySet().equals(Set.of("$join"))) {
      var parts = resolve(object.get("$join")).getAsJsonArray().asList().stream();
      return new JsonPrimitive(parts.map(JsonElement::getAsString).collect(Collectors.joining()));
    }
    JsonObject resolved = new JsonObject();
    object.entrySet().forEach(entry -> resolved.add(entry.getKey(), resolve(entry.getValue())));
    return resolved;
  }

  private String standsFor(String name) {
    if (name.startsWith(TODAY)) {
      return today(name.substring(TODAY.length()));
    }
    if (!saved.containsKey(name)) {
      throw new Mismatch("no earlier step saved '" + name + "'");
    }
    return saved.get(name);
  }
}
