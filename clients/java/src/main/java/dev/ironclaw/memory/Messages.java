package dev.ironclaw.memory;

import dev.ironclaw.memory.v1.InteractionMessage;
import dev.ironclaw.memory.v1.MessageRole;

/** The messages of an exchange, for {@link MemoryClient#recordInteraction}. */
public final class Messages {
  private Messages() {}

  /**
   * Returns what the human said.
   *
   * @param content the text
   * @return the message
   */
  public static InteractionMessage user(String content) {
    return message(MessageRole.MESSAGE_ROLE_USER, content);
  }

  /**
   * Returns what the agent said.
   *
   * @param content the text
   * @return the message
   */
  public static InteractionMessage assistant(String content) {
    return message(MessageRole.MESSAGE_ROLE_ASSISTANT, content);
  }

  /**
   * Returns what the host said.
   *
   * @param content the text
   * @return the message
   */
  public static InteractionMessage system(String content) {
    return message(MessageRole.MESSAGE_ROLE_SYSTEM, content);
  }

  /**
   * Returns what a tool answered.
   *
   * @param name the tool's name
   * @param content the text
   * @return the message
   */
  public static InteractionMessage tool(String name, String content) {
    return message(MessageRole.MESSAGE_ROLE_TOOL, content).toBuilder().setName(name).build();
  }

  private static InteractionMessage message(MessageRole role, String content) {
    return InteractionMessage.newBuilder().setRole(role).setContent(content).build();
  }
}
