package dev.ironclaw.memory.conformance;

/** An answer isn't what the vectors expect; the message says where. */
final class Mismatch extends AssertionError {
  private static final long serialVersionUID = 1L;

  Mismatch(String message) {
    super(message);
  }
}
