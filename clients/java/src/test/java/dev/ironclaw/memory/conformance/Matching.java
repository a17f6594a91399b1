package dev.ironclaw.memory.conformance;

import static java.util.Map.entry;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** How an answer is held against an expectation of the vectors; their README has the rules. */
final class Matching {
  /** A value with the place where it stands in the answer. */
  record Placed(String where, JsonElement value) {}

  /** The operators that look at one value, which is null where the answer has none. */
  private static final Map<String, BiPredicate<JsonElement, JsonElement>> SIMPLE =
      Map.ofEntries(
          entry("$any", (argument, actual) -> isAnything(actual)),
          entry("$contains", (argument, actual) -> texts(argument).allMatch(isPartOf(actual))),
          entry("$not_contains", Matching::containsNone),
          entry("$prefix", (a, actual) -> isText(actual, t -> t.startsWith(a.getAsString()))),
          entry("$ends_with", (a, actual) -> isText(actual, t -> t.endsWith(a.getAsString()))),
          entry("$max_bytes", (a, actual) -> isText(actual, t -> bytes(t) <= a.getAsInt())),
          entry("$length", (argument, actual) -> size(actual) == argument.getAsInt()),
          entry("$in", (a, actual) -> elements(a).anyMatch(choice -> sameScalar(choice, actual))));

  /** The operators that lead to further values. */
  private static final Map<String, BiFunction<JsonElement, String, List<Placed>>> NESTED =
      Map.of(
          "$each", Matching::each,
          "$last", Matching::last,
          "$json", Matching::parsed,
          "$json_base64", Matching::decoded);

  private final boolean absentIsDefault;

  /**
   * Makes the matching of one answer.
   *
   * @param absentIsDefault whether a missing key counts as its type's default, as in protobuf JSON
   */
  Matching(boolean absentIsDefault) {
    this.absentIsDefault = absentIsDefault;
  }

  /**
   * Returns when {@code actual}, null for nothing at all, is what {@code expected} asks for.
   *
   * @throws Mismatch it isn't
   */
  void match(JsonElement expected, JsonElement actual, String where) {
    if (isOperators(expected)) {
      matchOperators(expected.getAsJsonObject(), actual, where);
    } else if (actual == null) {
      require(absentIsDefault && isDefault(expected), where, expected, null);
    } else if (expected instanceof JsonObject object) {
      matchObject(object, actual, where);
    } else if (expected instanceof JsonArray array) {
      matchList(array, actual, where);
    } else {
      require(sameScalar(expected, actual), where, expected, actual);
    }
  }

  private void matchObject(JsonObject expected, JsonElement actual, String where) {
    require(actual.isJsonObject(), where, expected, actual);
    expected
        .entrySet()
        .forEach(
            entry ->
                match(
                    entry.getValue(),
                    actual.getAsJsonObject().get(entry.getKey()),
                    where + "." + entry.getKey()));
  }

  private void matchList(JsonArray expected, JsonElement actual, String where) {
    require(actual.isJsonArray(), where, expected, actual);
    JsonArray list = actual.getAsJsonArray();
    boolean enough = expected.isEmpty() ? list.isEmpty() : list.size() >= expected.size();
    require(enough, where, expected, actual);
    for (int i = 0; i < expected.size(); i++) {
      match(expected.get(i), list.get(i), where + "[" + i + "]");
    }
  }

  private void matchOperators(JsonObject operators, JsonElement actual, String where) {
    operators.entrySet().forEach(e -> matchOperator(e.getKey(), e.getValue(), actual, where));
  }

  private void matchOperator(String name, JsonElement argument, JsonElement actual, String where) {
    if (NESTED.containsKey(name)) {
      for (Placed inner : NESTED.get(name).apply(actual, where)) {
        match(argument, inner.value(), inner.where());
      }
    } else if (SIMPLE.containsKey(name)) {
      require(SIMPLE.get(name).test(argument, actual), where + " " + name, argument, actual);
    } else {
      throw new Mismatch(where + ": the vectors use an operator that nobody knows: " + name);
    }
  }

  private static void require(boolean holds, String where, Object expected, Object actual) {
    if (!holds) {
      throw new Mismatch(where + ": expected " + shown(expected) + ", got " + shown(actual));
    }
  }

  private static String shown(Object value) {
    String text = value == null ? "nothing" : value.toString();
    return text.length() <= 300 ? text : text.substring(0, 300) + "…";
  }

  private static boolean isOperators(JsonElement expected) {
    return expected instanceof JsonObject object
        && !object.isEmpty()
        && object.keySet().stream().allMatch(key -> key.startsWith("$"));
  }

  private static boolean isDefault(JsonElement expected) {
    if (expected instanceof JsonPrimitive primitive) {
      return Json.isNumber(primitive)
          ? primitive.getAsDouble() == 0
          : primitive.equals(new JsonPrimitive(false)) || primitive.equals(new JsonPrimitive(""));
    }
    return expected.isJsonNull() || size(expected) == 0 || expected.equals(new JsonObject());
  }

  /** Tells numbers by value, whether JSON prints them as number or as text. */
  private static boolean sameScalar(JsonElement expected, JsonElement actual) {
    if (!(expected instanceof JsonPrimitive) || !(actual instanceof JsonPrimitive)) {
      return expected.equals(actual) && expected.isJsonNull();
    }
    if (Json.isBoolean(expected) || Json.isBoolean(actual)) {
      return expected.equals(actual);
    }
    if (Json.isText(expected) && expected.equals(actual)) {
      return true;
    }
    return isNumeric(expected)
        && isNumeric(actual)
        && expected.getAsDouble() == actual.getAsDouble();
  }

  /** Protobuf JSON prints 64-bit integers as text; no other text counts as a number. */
  private static boolean isNumeric(JsonElement value) {
    return Json.isNumber(value) || value.getAsString().matches("-?[0-9]+");
  }

  private static boolean isAnything(JsonElement actual) {
    return actual != null && !actual.isJsonNull() && !actual.equals(new JsonPrimitive(""));
  }

  private static Predicate<String> isPartOf(JsonElement actual) {
    return part -> isText(actual, text -> text.contains(part));
  }

  private static boolean containsNone(JsonElement argument, JsonElement actual) {
    return isText(actual, text -> true) && texts(argument).noneMatch(isPartOf(actual));
  }

  private static boolean isText(JsonElement actual, Predicate<String> holds) {
    return Json.isText(actual) && holds.test(actual.getAsString());
  }

  private static Stream<JsonElement> elements(JsonElement list) {
    return list.getAsJsonArray().asList().stream();
  }

  private static Stream<String> texts(JsonElement argument) {
    var one = argument.isJsonArray() ? elements(argument) : Stream.of(argument);
    return one.map(JsonElement::getAsString);
  }

  private static int bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8).length;
  }

  /** Returns how many elements or characters there are; -1 for what has none to count. */
  private static int size(JsonElement actual) {
    if (actual instanceof JsonArray array) {
      return array.size();
    }
    return Json.isText(actual) ? (int) actual.getAsString().codePoints().count() : -1;
  }

  private static List<Placed> each(JsonElement actual, String where) {
    boolean some = actual instanceof JsonArray array && !array.isEmpty();
    require(some, where, "a list with elements", actual);
    JsonArray list = actual.getAsJsonArray();
    return Stream.iterate(0, i -> i < list.size(), i -> i + 1)
        .map(i -> new Placed(where + "[" + i + "]", list.get(i)))
        .toList();
  }

  private static List<Placed> last(JsonElement actual, String where) {
    List<Placed> all = each(actual, where);
    return all.subList(all.size() - 1, all.size());
  }

  private static List<Placed> parsed(JsonElement actual, String where) {
    require(Json.isText(actual), where, "JSON text", actual);
    var value = Json.parse(actual.getAsString());
    require(value.isPresent(), where, "JSON text", actual);
    return List.of(new Placed(where + " parsed", value.get()));
  }

  private static List<Placed> decoded(JsonElement actual, String where) {
    require(Json.isText(actual), where, "base64 text", actual);
    try {
      byte[] bytes = Base64.getDecoder().decode(actual.getAsString());
      return parsed(new JsonPrimitive(new String(bytes, StandardCharsets.UTF_8)), where);
    } catch (IllegalArgumentException e) {
      throw new Mismatch(where + ": expected base64 text, got " + shown(actual));
    }
  }
}
