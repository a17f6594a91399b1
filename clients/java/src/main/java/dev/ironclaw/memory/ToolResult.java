package dev.ironclaw.memory;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import dev.ironclaw.memory.v1.Advisory;
import dev.ironclaw.memory.v1.InvokeToolResponse;
import dev.ironclaw.memory.v1.ToolError;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What came of a model's tool call: an output or an error, both for the model.
 *
 * @param message as the service sent it
 */
public record ToolResult(InvokeToolResponse message) {
  private static final Gson GSON = new GsonBuilder().disableHtmlEscaping().create();

  /**
   * Returns the result by the tool's output schema.
   *
   * @return JSON; empty when there is an error
   */
  public String outputJson() {
    return message.getOutputJson();
  }

  /**
   * Returns why the call failed.
   *
   * @return the error; empty when the call succeeded
   */
  public Optional<ToolError> error() {
    return message.hasError() ? Optional.of(message.getError()) : Optional.empty();
  }

  /**
   * Returns what makes a stored text poor memory; nothing was refused for it.
   *
   * @return the advice; empty most of the time
   */
  public List<Advisory> advisories() {
    return message.getAdvisoriesList();
  }

  /**
   * Returns the text of the model's tool result.
   *
   * @return the output, or the error as a JSON object
   */
  public String forModel() {
    return error().map(ToolResult::inWords).orElseGet(this::outputJson);
  }

  private static String inWords(ToolError error) {
    Map<String, String> words = new LinkedHashMap<>();
    words.put("kind", error.getKind());
    words.put("reason", error.getReason());
    words.put("message", error.getMessage());
    return GSON.toJson(Map.of("error", words));
  }
}
