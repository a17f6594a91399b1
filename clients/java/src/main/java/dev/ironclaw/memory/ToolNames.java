package dev.ironclaw.memory;

/**
 * The tools' ids as names of functions, and back. Ids have dots, which the OpenAI and Anthropic
 * APIs refuse: {@code ironclaw.memory.profile_set} becomes {@code ironclaw_memory_profile_set}.
 */
public final class ToolNames {
  private static final String PREFIX = "ironclaw.memory.";
  private static final String MAPPED_PREFIX = PREFIX.replace('.', '_');

  private ToolNames() {}

  /**
   * Returns a tool's id as a name that every model API takes.
   *
   * @param toolId such as {@code ironclaw.memory.write}
   * @return such as {@code ironclaw_memory_write}
   */
  public static String functionName(String toolId) {
    return toolId.replace('.', '_');
  }

  /**
   * Returns the tool's id for a name in either form. Only the prefix is mapped back, so the
   * underscore of {@code profile_set} stays one.
   *
   * @param name as the model wrote it
   * @return the id; a name that is neither form as it is, for the service to refuse
   */
  public static String toolId(String name) {
    return name.startsWith(MAPPED_PREFIX) ? PREFIX + name.substring(MAPPED_PREFIX.length()) : name;
  }

  /** Returns a text with the names of functions in place of the tools' ids. */
  static String namedIn(String text) {
    return text.replace(PREFIX, MAPPED_PREFIX);
  }
}
