package dev.ironclaw.memory.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The real service as a child process on a free port, with a data folder of its own: started, read
 * until it is ready, ended as an operator would end it. {@code IRONCLAW_MEMORY_SERVER} names the
 * executable; by default it is the one that {@code make setup} puts into the repository's {@code
 * .venv}.
 */
public final class ServerProcess implements AutoCloseable {
  private static final Pattern READY = Pattern.compile("ironclaw-memory is ready on (\\S+)");

  /** Generous: the machine may be busy, and a server that hangs fails the test anyway. */
  private static final long SECONDS = 120;

  private final Path folder;
  private final Process process;
  private final List<Thread> readers;
  private final StringBuffer output = new StringBuffer();
  private final CompletableFuture<String> address = new CompletableFuture<>();

  private ServerProcess(Path folder, List<String> arguments) throws IOException {
    this.folder = folder;
    List<String> command = new ArrayList<>(List.of(executable(), "serve"));
    command.addAll(List.of("--data-dir", dataDir(folder).toString()));
    command.addAll(arguments);
    process = prepared(command).start();
    readers = List.of(reader(process.getInputStream()), reader(process.getErrorStream()));
  }

  /** Starts a server on a free port of loopback, and returns it once it is ready. */
  public static ServerProcess start() {
    return start(folder -> List.of("--listen", "127.0.0.1:0"));
  }

  /**
   * Starts a server that was prepared.
   *
   * @param prepare gets an empty folder, whose {@code data} will be the server's data folder, and
   *     returns the command line's further arguments
   */
  public static ServerProcess start(Preparation prepare) {
    try {
      Path folder = Files.createTempDirectory("ironclaw-memory-java-");
      ServerProcess server = new ServerProcess(folder, prepare.arguments(folder));
      server.awaitReady();
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What comes before the start. */
  @FunctionalInterface
  public interface Preparation {
    List<String> arguments(Path folder) throws IOException;
  }

  /** Returns the folder that holds the server's data folder. */
  public Path folder() {
    return folder;
  }

  /** Returns where it listens, as it printed it. */
  public String address() {
    return address.join();
  }

  public static Path dataDir(Path folder) {
    return folder.resolve("data");
  }

  /** Runs a command of the service to its end and returns what it printed. */
  public static String run(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(executable()));
    command.addAll(List.of(arguments));
    return Commands.output(prepared(command));
  }

  /** Ends it by SIGTERM, and holds it to a clean end. */
  @Override
  public void close() {
    // Not process.destroy(), which would also close the pipes that the server still writes to.
    process.toHandle().destroy();
    try {
      boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
      if (!ended) {
        process.destroyForcibly().waitFor();
      }
      for (Thread reader : readers) {
        reader.join();
      }
      deleteTree(folder);
      if (process.exitValue() != 0) {
        throw new AssertionError("the server ended with " + process.exitValue() + ":\n" + output);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void awaitReady() {
    try {
      address.get(SECONDS, TimeUnit.SECONDS);
    } catch (TimeoutException | ExecutionException e) {
      process.destroyForcibly();
      throw new AssertionError("the server didn't start:\n" + output, e);
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private Thread reader(InputStream stream) {
    Thread reader = new Thread(() -> readAll(stream), "output of the server");
    reader.setDaemon(true);
    reader.start();
    return reader;
  }

  private void readAll(InputStream stream) {
    var lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    lines.lines().forEach(this::take);
    process.onExit().thenRun(() -> address.completeExceptionally(new IOException("it ended")));
  }

  private void take(String line) {
    output.append(line).append('\n');
    Matcher ready = READY.matcher(line);
    if (ready.find()) {
      address.complete(ready.group(1));
    }
  }

  private static String executable() {
    String named = System.getenv("IRONCLAW_MEMORY_SERVER");
    Path built = Path.of("..", "..", ".venv", "bin", "ironclaw-memory").toAbsolutePath();
    return named == null ? built.normalize().toString() : named;
  }

  /** The settings are those of the command line alone, whatever the environment holds. */
  private static ProcessBuilder prepared(List<String> command) {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().keySet().removeIf(name -> name.startsWith("IRONCLAW_MEMORY_"));
    return builder;
  }

  private static void deleteTree(Path folder) {
    Consumer<Path> delete = path -> path.toFile().delete();
    try (Stream<Path> paths = Files.walk(folder)) {
      paths.sorted(Comparator.reverseOrder()).forEach(delete);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
