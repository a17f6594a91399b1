package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ironclaw.memory.errors.ErrorDetails;
import dev.ironclaw.memory.errors.MemoryServiceException;
import dev.ironclaw.memory.example.AgentLoop;
import dev.ironclaw.memory.server.RealServer;
import dev.ironclaw.memory.server.ServerProcess;
import dev.ironclaw.memory.v1.ErrorReason;
import io.grpc.Status.Code;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * The README is run as it stands: its examples against a real server, its tables against the code.
 */
@ExtendWith(RealServer.class)
class ReadmeTest {
  private static final String README = readme();
  private static final List<MatchResult> EXAMPLES =
      found("(?s)```java\n(.*?)```\n(\nprints\n\n```text\n(.*?)```)?", README);

  @TempDir Path folder;

  private static String readme() {
    try {
      return Files.readString(Path.of("README.md"));
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<MatchResult> found(String pattern, String text) {
    return Pattern.compile(pattern, Pattern.MULTILINE).matcher(text).results().toList();
  }

  /** A call that may throw whatever it likes. */
  private interface Program {
    void run() throws Exception;
  }

  private static String printedBy(Program program) throws Exception {
    PrintStream before = System.out;
    var printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    try {
      program.run();
    } finally {
      System.setOut(before);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  /** Compiles statements, after their imports, as a class with a main method. */
  private Class<?> compiled(String name, String code) throws Exception {
    String imports =
        code.lines().filter(l -> l.startsWith("import ")).collect(Collectors.joining("\n"));
    String body =
        code.lines().filter(l -> !l.startsWith("import ")).collect(Collectors.joining("\n"));
    Path source = folder.resolve(name + ".java");
    String main = "  public static void main(String[] arguments) throws Exception {\n";
    Files.writeString(source, imports + "\npublic class " + name + " {\n" + main + body + "}}\n");
    String classPath = System.getProperty("java.class.path");
    var arguments = new String[] {"-cp", classPath, "-d", folder.toString(), source.toString()};
    int status = ToolProvider.getSystemJavaCompiler().run(null, System.out, System.err, arguments);
    assertEquals(0, status, code);
    try (var loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
      return loader.loadClass(name);
    }
  }

  @Test
  void examplesPrintWhatTheReadmeSays(ServerProcess server) throws Exception {
    assertEquals(3, EXAMPLES.size());
    for (MatchResult example : EXAMPLES.subList(0, 2)) {
      String code = example.group(1).replace("127.0.0.1:50051", server.address());
      var program = compiled("Example" + EXAMPLES.indexOf(example), code);
      var main = program.getMethod("main", String[].class);
      String printed = printedBy(() -> main.invoke(null, (Object) new String[0]));
      assertEquals(example.group(3), printed);
    }
  }

  @Test
  void theExampleThatNeedsCertificatesCompiles() throws Exception {
    assertEquals("Connections", compiled("Connections", EXAMPLES.get(2).group(1)).getName());
  }

  @Test
  void theAgentLoopRemembers(ServerProcess server) throws Exception {
    String printed = printedBy(() -> AgentLoop.main(new String[] {server.address()}));
    assertEquals(
        List.of(
            "user: I can't eat peanuts.",
            "(5 tools offered)",
            "tool ironclaw_memory_write",
            "assistant: Noted: no peanuts.",
            "user: What should I avoid?",
            "assistant: Peanuts."),
        printed
            .lines()
            .map(line -> line.replaceAll("^(tool \\w+):.*\"MEMORY.md\".*", "$1"))
            .toList());
    var scope = Scope.of("example", "ann").withThread("chat-1");
    try (var memory = MemoryClient.connect(server.address(), scope)) {
      assertTrue(memory.read("threads/chat-1/turn-1.md").getContent().contains("no peanuts"));
    }
  }

  @Test
  void theTableOfErrorsIsTheCodes() {
    Map<String, String> table = new TreeMap<>();
    for (MatchResult row : found("^\\| `(\\w+Exception)`[^|]*\\| ([^|]+) \\|$", README)) {
      found("`(\\w+)`", row.group(2)).forEach(reason -> table.put(reason.group(1), row.group(1)));
    }
    Map<String, String> code = new TreeMap<>();
    for (var value : ErrorReason.getDescriptor().getValues()) {
      if (value.getNumber() != 0) {
        String reason = value.getName().substring("ERROR_REASON_".length());
        var thrown = MemoryServiceException.of(ErrorDetails.of(Code.UNKNOWN, reason, ""));
        code.put(reason, thrown.getClass().getSimpleName());
      }
    }
    assertEquals(code, table);
  }

  @Test
  void everyMethodIsInTheReadme() {
    Set<String> rows = new TreeSet<>();
    for (MatchResult row : found("^\\| (`\\w+`(?:, `\\w+`)*) \\|", README)) {
      found("`(\\w+)`", row.group(1)).forEach(name -> rows.add(name.group(1)));
    }
    Set<String> methods =
        Stream.of(MemoryClient.class.getDeclaredMethods())
            .filter(
                m -> Modifier.isPublic(m.getModifiers()) && !Modifier.isStatic(m.getModifiers()))
            .map(method -> method.getName())
            .collect(Collectors.toCollection(TreeSet::new));
    methods.removeAll(Set.of("scope", "close"));
    assertNotEquals(Set.of(), methods);
    rows.removeIf(name -> name.endsWith("Exception"));
    assertEquals(methods, rows);
  }
}
