package dev.ironclaw.memory.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dev.ironclaw.memory.Scope;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** Runs scenarios, each in a tenant that nobody else uses. */
final class ScenarioRunner {
  private static final String TREE = "ironclaw.memory.tree";
  private static final Set<String> STEP_KEYS =
      Set.of(
          "tool",
          "arguments",
          "output",
          "error",
          "rpc",
          "request",
          "response",
          "status",
          "reason",
          "as",
          "save");

  private final Caller caller;
  private final UnaryOperator<String> today;

  ScenarioRunner(Caller caller, UnaryOperator<String> today) {
    this.caller = caller;
    this.today = today;
  }

  /**
   * Runs one scenario. A mismatch while the date changes in a zone that it speaks of proves
   * nothing: it is run once more.
   *
   * @throws Mismatch an answer isn't what the vectors expect; the message names the step
   */
  void run(Scenario scenario, String tenant) {
    Map<String, String> dates = dates(scenario);
    try {
      runSteps(scenario, tenant);
    } catch (Mismatch mismatch) {
      if (dates.equals(dates(scenario))) {
        throw mismatch;
      }
      runSteps(scenario, tenant + "-next-day");
    }
  }

  private Map<String, String> dates(Scenario scenario) {
    return scenario.zones().stream().collect(Collectors.toMap(zone -> zone, today));
  }

  private void runSteps(Scenario scenario, String tenant) {
    Values values = new Values();
    int number = 0;
    for (JsonObject step : scenario.steps()) {
      number++;
      try {
        checkKeys(step);
        runStep(step, scope(step, tenant, scenario.thread()), values);
      } catch (Mismatch mismatch) {
        JsonElement what = step.has("tool") ? step.get("tool") : step.get("rpc");
        throw new Mismatch("step " + number + " (" + what + "): " + mismatch.getMessage());
      }
    }
  }

  /** A misspelt key would make a step that checks nothing. */
  private static void checkKeys(JsonObject step) {
    Set<String> unknown = new TreeSet<>(step.keySet());
    unknown.removeAll(STEP_KEYS);
    if (!unknown.isEmpty()) {
      throw new Mismatch("the step has keys that nobody knows: " + unknown);
    }
  }

  private static Scope scope(JsonObject step, String tenant, String thread) {
    Map<String, String> axes = new HashMap<>();
    axes.put("tenant", tenant);
    axes.put("user", "alice");
    axes.put("thread", thread);
    if (step.has("as")) {
      JsonObject as = step.getAsJsonObject("as");
      as.entrySet().forEach(e -> axes.put(e.getKey(), textOrNull(e.getValue())));
      if (as.has("tenant") && axes.get("tenant") != null) {
        axes.put("tenant", tenant + "-" + axes.get("tenant"));
      }
    }
    return new Scope(
        axes.get("tenant"),
        axes.get("user"),
        axes.get("agent"),
        axes.get("project"),
        axes.get("thread"));
  }

  private static String textOrNull(JsonElement value) {
    return value.isJsonNull() ? null : value.getAsString();
  }

  private void runStep(JsonObject step, Scope scope, Values values) {
    if (step.has("tool")) {
      runToolStep(step, scope, values);
    } else {
      runRpcStep(step, scope, values);
    }
  }

  private void runToolStep(JsonObject step, Scope scope, Values values) {
    String arguments = Json.print(values.resolve(step.get("arguments")));
    String tool = step.get("tool").getAsString();
    Caller.ToolAnswer answer = caller.invoke(scope, tool, arguments);
    if (answer.error() != null) {
      JsonElement expected = step.has("error") ? step.get("error") : new JsonPrimitive("no error");
      new Matching(false).match(expected, answer.error(), "error");
    } else if (step.has("error")) {
      throw new Mismatch("expected " + step.get("error") + ", got " + answer.output());
    } else if (step.has("output")) {
      matchOutput(tool, values.resolve(step.get("output")), answer.output());
    }
  }

  private static void matchOutput(String tool, JsonElement expected, JsonElement output) {
    if (tool.equals(TREE) && !expected.equals(output)) {
      throw new Mismatch("expected exactly " + expected + ", got " + output);
    }
    new Matching(false).match(expected, output, "output");
  }

  private void runRpcStep(JsonObject step, Scope scope, Values values) {
    JsonObject request = values.resolve(step.get("request")).getAsJsonObject();
    var answer = caller.call(scope, step.get("rpc").getAsString(), request);
    if (answer.response() == null) {
      matchStatus(step, answer);
      return;
    }
    if (step.has("status")) {
      throw new Mismatch("expected " + step.get("status") + ", got " + answer.response());
    }
    if (step.has("response")) {
      JsonElement expected = values.resolve(step.get("response"));
      new Matching(true).match(expected, answer.response(), "response");
    }
    save(step, answer.response(), values);
  }

  private static void matchStatus(JsonObject step, Caller.RpcAnswer answer) {
    String wanted = step.has("status") ? step.get("status").getAsString() : "OK";
    JsonElement reason = step.has("reason") ? step.get("reason") : new JsonPrimitive("");
    new Matching(false)
        .match(new JsonPrimitive(wanted), new JsonPrimitive(answer.status()), "status");
    new Matching(false).match(reason, new JsonPrimitive(answer.reason()), "reason");
  }

  private static void save(JsonObject step, JsonObject response, Values values) {
    if (step.has("save")) {
      var names = step.getAsJsonObject("save").entrySet();
      names.forEach(
          name ->
              values.save(
                  name.getKey(), response.get(name.getValue().getAsString()).getAsString()));
    }
  }
}
