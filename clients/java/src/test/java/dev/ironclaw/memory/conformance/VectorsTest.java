package dev.ironclaw.memory.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import dev.ironclaw.memory.MemoryClient;
import dev.ironclaw.memory.Scope;
import dev.ironclaw.memory.server.RealServer;
import dev.ironclaw.memory.server.ServerProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.ExtendWith;

/** Every scenario of the vectors against a running server, one test a scenario. */
@ExtendWith(RealServer.class)
class VectorsTest {
  private static final List<Scenario> SCENARIOS = Scenario.all();
  private static final AtomicInteger PASSED = new AtomicInteger();
  private static MemoryClient client;

  @TestFactory
  Stream<DynamicTest> scenario(ServerProcess server) {
    var builder = MemoryClient.builder(server.address(), Scope.OF_CREDENTIAL);
    client = builder.deadline(Duration.ofSeconds(60)).build();
    var runner = new ScenarioRunner(new ClientCaller(client), Values::today);
    return SCENARIOS.stream()
        .map(scenario -> dynamicTest(scenario.id(), () -> run(runner, scenario)));
  }

  private static void run(ScenarioRunner runner, Scenario scenario) {
    runner.run(scenario, "vectors-" + UUID.randomUUID());
    PASSED.incrementAndGet();
  }

  @AfterAll
  static void everyScenarioOfTheFilesHasPassed() throws IOException {
    client.close();
    assertEquals(scenariosInFiles(), PASSED.get());
  }

  /**
   * Counts names in the files' text, so that a scenario that isn't read can't pass for one that is.
   */
  private static long scenariosInFiles() throws IOException {
    long count = 0;
    try (var files = Files.newDirectoryStream(Scenario.VECTORS, "*.json")) {
      for (Path file : files) {
        count +=
            Pattern.compile("^   \"name\": ", Pattern.MULTILINE)
                .matcher(Files.readString(file))
                .results()
                .count();
      }
    }
    return count;
  }

  @Test
  void namesAreUniqueAndEverySuiteIsRead() {
    var names = SCENARIOS.stream().map(Scenario::id).collect(Collectors.toSet());
    assertEquals(SCENARIOS.size(), names.size());
    var suites = SCENARIOS.stream().map(Scenario::suite).collect(Collectors.toSet());
    assertEquals(
        Set.of(
            "history",
            "lifecycle",
            "patch",
            "paths",
            "profile",
            "safety",
            "scope",
            "search",
            "tools",
            "tree",
            "write"),
        suites);
  }
}
