package dev.ironclaw.memory.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.ironclaw.memory.Scope;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The runner can fail: whatever a step expects and doesn't get ends its scenario. */
class ScenarioRunnerTest {
  private static final String READ = "{'tool': 'ironclaw.memory.read', 'arguments': {'path': 'a'}";
  private static final String TREE = "{'tool': 'ironclaw.memory.tree', 'arguments': {}";
  private static final String RPC = "{'rpc': 'p.S/M', 'request': {}";
  private static final Caller.RpcAnswer NOT_FOUND =
      new Caller.RpcAnswer(null, "NOT_FOUND", "NOT_FOUND");

  private static JsonElement json(String text) {
    return Json.parse(text.replace('\'', '"')).orElseThrow();
  }

  private static Caller.ToolAnswer output(String json) {
    return new Caller.ToolAnswer(json(json), null);
  }

  private static Caller.ToolAnswer error(String kind, String reason) {
    String error = "{'kind': '" + kind + "', 'reason': '" + reason + "'}";
    return new Caller.ToolAnswer(null, json(error).getAsJsonObject());
  }

  private static Caller.RpcAnswer response(String json) {
    return new Caller.RpcAnswer(json(json).getAsJsonObject(), "OK", "");
  }

  /** Answers from a list, and keeps what it was asked. */
  private static final class ScriptedCaller implements Caller {
    private final Deque<Object> answers = new ArrayDeque<>();
    private final List<Scope> scopes = new ArrayList<>();
    private final List<String> asked = new ArrayList<>();

    ScriptedCaller(Object... answers) {
      this.answers.addAll(List.of(answers));
    }

    @Override
    public ToolAnswer invoke(Scope scope, String tool, String argumentsJson) {
      return (ToolAnswer) next(scope, argumentsJson);
    }

    @Override
    public RpcAnswer call(Scope scope, String rpc, JsonObject request) {
      return (RpcAnswer) next(scope, request.toString());
    }

    private Object next(Scope scope, String what) {
      scopes.add(scope);
      asked.add(what);
      Object answer = answers.remove();
      if (answer instanceof Mismatch mismatch) {
        throw mismatch;
      }
      return answer;
    }
  }

  private static void run(Caller caller, String thread, String... steps) {
    var parsed = Stream.of(steps).map(step -> json(step).getAsJsonObject()).toList();
    var runner = new ScenarioRunner(caller, zone -> "2026-12-01");
    runner.run(new Scenario("s", "n", parsed, thread), "t");
  }

  static List<Arguments> failing() {
    return List.of(
        arguments(
            "other output", READ + ", 'output': {'content': 'x'}}", output("{'content': 'y'}")),
        arguments("error instead", READ + ", 'output': {'content': 'x'}}", error("input", "X")),
        arguments("error where success goes without saying", READ + "}", error("input", "X")),
        arguments("the call itself fails", READ + "}", new Mismatch("the call itself failed")),
        arguments(
            "output instead of an error", READ + ", 'error': {'kind': 'input'}}", output("{}")),
        arguments("other kind", READ + ", 'error': {'kind': 'input'}}", error("operation", "X")),
        arguments("other reason", READ + ", 'error': {'reason': 'A'}}", error("input", "B")),
        arguments("tree must be equal", TREE + ", 'output': ['a']}", output("['a', 'b']")),
        arguments("other response", RPC + ", 'response': {'a': 1}}", response("{'a': 2}")),
        arguments("status instead of a response", RPC + ", 'response': {}}", NOT_FOUND),
        arguments("status where success goes without saying", RPC + "}", NOT_FOUND),
        arguments("response instead of a status", RPC + ", 'status': 'NOT_FOUND'}", response("{}")),
        arguments("other status", RPC + ", 'status': 'ABORTED', 'reason': 'NOT_FOUND'}", NOT_FOUND),
        arguments(
            "other status reason", RPC + ", 'status': 'NOT_FOUND', 'reason': 'X'}", NOT_FOUND),
        arguments(
            "misspelt key", READ + ", 'ouput': {'content': 'x'}}", output("{'content': 'x'}")));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("failing")
  void aStepThatFailsFailsTheScenario(String name, String step, Object answer) {
    var caller = new ScriptedCaller(output("{}"), answer);
    var mismatch = assertThrows(Mismatch.class, () -> run(caller, null, READ + "}", step));
    assertTrue(mismatch.getMessage().startsWith("step 2 "), mismatch.getMessage());
  }

  @Test
  void stepsThatHoldPassAndSavedValuesAreFilledIn() {
    var caller =
        new ScriptedCaller(
            output("['a']"), error("input", "B"), response("{'id': '7'}"), NOT_FOUND);
    run(
        caller,
        null,
        TREE + ", 'output': ['a']}",
        READ + ", 'error': {'kind': 'input', 'reason': {'$in': ['A', 'B']}}}",
        RPC + ", 'save': {'lease': 'id'}, 'response': {'id': '7', 'gone': 0}}",
        "{'rpc': 'p.S/N', 'request': {'lease': '${lease}'}, 'status': 'NOT_FOUND',"
            + " 'reason': 'NOT_FOUND'}");
    assertEquals("{\"lease\":\"7\"}", caller.asked.get(3));
  }

  @Test
  void aStepRunsInTheScenariosScopeLessOrMoreWhatItSays() {
    var caller = new ScriptedCaller(output("[]"), output("[]"));
    String other = TREE + ", 'as': {'tenant': 'other', 'user': null, 'agent': 'a'}}";
    run(caller, "t1", other, TREE + "}");
    assertEquals(new Scope("t-other", null, "a", null, "t1"), caller.scopes.get(0));
    assertEquals(new Scope("t", "alice", null, null, "t1"), caller.scopes.get(1));
  }

  @Test
  void placeholdersAndLongTextsAreWrittenOut() {
    Values values = new Values();
    values.save("lease", "L$1");
    var given = "{'a': ['${lease}/${today:UTC}'], 'b': {'$join': ['x', {'$repeat': ['yz', 3]}]}}";
    String today = Values.today("UTC");
    var expected = json("{'a': ['L$1/" + today + "'], 'b': 'xyzyzyz'}");
    assertEquals(expected, values.resolve(json(given)));
    assertThrows(Mismatch.class, () -> values.resolve(json("'${unsaved}'")));
  }

  @Test
  void midnightRepeatsTheScenario() {
    String step = READ + ", 'output': {'path': '${today:UTC}'}}";
    var scenario = new Scenario("s", "n", List.of(json(step).getAsJsonObject()), null);
    Iterator<String> dates = List.of("2026-12-01", "2026-12-02").iterator();
    String today = Values.today("UTC");
    var caller = new ScriptedCaller(output("{'path': 'x'}"), output("{'path': '" + today + "'}"));
    new ScenarioRunner(caller, zone -> dates.next()).run(scenario, "t");
    assertEquals(List.of("t", "t-next-day"), caller.scopes.stream().map(Scope::tenant).toList());
    var other = new ScriptedCaller(output("{'path': 'x'}"));
    var runner = new ScenarioRunner(other, zone -> "2026-12-01");
    assertThrows(Mismatch.class, () -> runner.run(scenario, "t"));
  }
}
