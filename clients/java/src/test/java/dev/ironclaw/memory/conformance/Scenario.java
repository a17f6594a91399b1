package dev.ironclaw.memory.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A scenario as its file has it.
 *
 * @param suite the name of its suite
 * @param name its own
 * @param steps in order
 * @param thread the active thread of all steps; null for none
 */
record Scenario(String suite, String name, List<JsonObject> steps, String thread) {
  static final Path VECTORS = Path.of("..", "..", "tests", "conformance", "vectors");
  private static final Pattern TODAY = Pattern.compile("\\$\\{today:([^}]+)}");

  /** Returns the scenarios of every suite, in the order of the files' names. */
  static List<Scenario> all() {
    try (Stream<Path> files = Files.list(VECTORS)) {
      return files
          .filter(file -> file.toString().endsWith(".json"))
          .sorted()
          .flatMap(Scenario::ofFile)
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String id() {
    return suite + "/" + name;
  }

  /** Returns the zones whose date the scenario speaks of. */
  Set<String> zones() {
    var found = TODAY.matcher(steps.toString()).results().map((MatchResult m) -> m.group(1));
    return found.collect(Collectors.toSet());
  }

  private static Stream<Scenario> ofFile(Path file) {
    JsonObject suite = parsed(file);
    String name = suite.get("suite").getAsString();
    var scenarios = suite.getAsJsonArray("scenarios").asList().stream();
    return scenarios.map(entry -> of(name, entry.getAsJsonObject()));
  }

  private static Scenario of(String suite, JsonObject entry) {
    var steps = entry.getAsJsonArray("steps").asList().stream().map(JsonElement::getAsJsonObject);
    JsonElement thread = entry.get("thread");
    String name = entry.get("name").getAsString();
    return new Scenario(suite, name, steps.toList(), thread == null ? null : thread.getAsString());
  }

  private static JsonObject parsed(Path file) {
    try {
      return Json.parse(Files.readString(file)).orElseThrow().getAsJsonObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
