package dev.ironclaw.memory.example;

import dev.ironclaw.memory.MemoryClient;
import dev.ironclaw.memory.Messages;
import dev.ironclaw.memory.Scope;
import dev.ironclaw.memory.ToolCatalogue;
import dev.ironclaw.memory.ToolResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Two turns of an agent that uses its memory. The target is the first argument, else {@code
 * IRONCLAW_MEMORY_TARGET}, else {@code 127.0.0.1:50051}.
 *
 * <p>{@link ScriptedModel} stands where a model API is called: send that the system prompt, the
 * tools and the messages, and handle what it answers as here.
 */
public final class AgentLoop {
  private final MemoryClient memory;
  private final ToolCatalogue catalogue;
  private final ScriptedModel model = new ScriptedModel();

  private AgentLoop(MemoryClient memory) {
    this.memory = memory;
    this.catalogue = memory.listTools();
  }

  /**
   * Holds the conversation.
   *
   * @param arguments the target, if it is not the default
   */
  public static void main(String[] arguments) {
    String target = System.getenv().getOrDefault("IRONCLAW_MEMORY_TARGET", "127.0.0.1:50051");
    if (arguments.length > 0) {
      target = arguments[0];
    }
    Scope scope = Scope.of("example", "ann").withThread("chat-1");
    try (MemoryClient memory = MemoryClient.connect(target, scope)) {
      AgentLoop agent = new AgentLoop(memory);
      agent.turn("turn-1", "I can't eat peanuts.");
      agent.turn("turn-2", "What should I avoid?");
    }
  }

  private void turn(String runId, String question) {
    String context = memory.retrieveContext(question).getBlock();
    String system = catalogue.systemPrompt(true) + "\n\n" + context;
    System.out.println("user: " + question);
    List<String> toolResults = new ArrayList<>();
    ScriptedModel.Reply reply;
    do {
      reply = model.reply(system, catalogue.forOpenAiChat(), question, toolResults);
      reply.toolCalls().forEach(call -> toolResults.add(run(call)));
    } while (reply.text() == null);
    System.out.println("assistant: " + reply.text());
    memory.recordInteraction(
        runId, List.of(Messages.user(question), Messages.assistant(reply.text())));
  }

  /** What the model did wrong goes back to it in words; an outage is an exception for the host. */
  private String run(ScriptedModel.ToolCall call) {
    ToolResult result = memory.invoke(call.name(), call.argumentsJson());
    System.out.println("tool " + call.name() + ": " + result.forModel());
    return result.forModel();
  }

  /** A model whose replies are written down: it notes what it is told, and reads the context. */
  private static final class ScriptedModel {
    /** What a model asks for: a function of the catalogue, with arguments as text. */
    record ToolCall(String name, String argumentsJson) {}

    /** What a model answers: calls of tools, or a text. */
    record Reply(List<ToolCall> toolCalls, String text) {}

    Reply reply(
        String system, List<Map<String, Object>> tools, String question, List<String> toolResults) {
      if (question.contains("avoid")) {
        boolean known = system.contains("allergic to peanuts");
        return new Reply(List.of(), known ? "Peanuts." : "I don't know yet.");
      }
      if (toolResults.isEmpty()) {
        System.out.println("(" + tools.size() + " tools offered)");
        String fact = "{\"target\": \"memory\", \"content\": \"User is allergic to peanuts.\"}";
        return new Reply(List.of(new ToolCall("ironclaw_memory_write", fact)), null);
      }
      return new Reply(List.of(), "Noted: no peanuts.");
    }
  }
}
