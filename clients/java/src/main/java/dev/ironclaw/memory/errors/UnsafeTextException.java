package dev.ironclaw.memory.errors;

import java.util.List;

/** A prompt file may not take this text; nothing was changed. Repeating it as it is never helps. */
public class UnsafeTextException extends MemoryServiceException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes the exception.
   *
   * @param details what the service said
   */
  public UnsafeTextException(ErrorDetails details) {
    super(details);
  }

  /**
   * Returns the rules that matched.
   *
   * @return their ids, most severe first; empty where no rule is involved
   */
  public List<String> ruleIds() {
    String ids = metadata().getOrDefault("rule_ids", "");
    return ids.isEmpty() ? List.of() : List.of(ids.split(","));
  }
}
