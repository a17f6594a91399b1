package dev.ironclaw.memory.server;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Commands that are run to their end. */
final class Commands {
  private Commands() {}

  /** Returns what the command printed; one that fails fails the test. */
  static String output(ProcessBuilder command) throws IOException {
    Process process = command.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      if (process.waitFor() != 0) {
        throw new AssertionError(command.command() + " failed:\n" + output);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return output;
  }
}
