package dev.ironclaw.memory;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import com.google.gson.reflect.TypeToken;
import dev.ironclaw.memory.v1.ListToolsResponse;
import dev.ironclaw.memory.v1.Tool;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The service's tools as the function definitions of model APIs.
 *
 * <p>Definitions are maps of plain values, ready for any JSON library. Where dots are not allowed
 * the names are mapped, in the definition and in every text that speaks of the tool, since a model
 * calls what it reads; {@link MemoryClient#invoke} takes either form.
 *
 * @param message as the service sent it
 */
public record ToolCatalogue(ListToolsResponse message) {
  private static final Gson GSON =
      new GsonBuilder().setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE).create();
  private static final TypeToken<Map<String, Object>> OBJECT = new TypeToken<>() {};

  /**
   * Returns the tools as they are.
   *
   * @return write, read, search, tree and profile_set
   */
  public List<Tool> tools() {
    return message.getToolsList();
  }

  /**
   * Returns a catalogue of some of the tools, with the same guidance.
   *
   * @param wanted which tools to keep, such as {@code tool -> !tool.getWrites()}
   * @return the smaller catalogue
   */
  public ToolCatalogue only(Predicate<Tool> wanted) {
    List<Tool> kept = tools().stream().filter(wanted).toList();
    return new ToolCatalogue(message.toBuilder().clearTools().addAllTools(kept).build());
  }

  /**
   * Returns the guidance for a system prompt, naming the tools by their mapped names.
   *
   * @param withPrompts whether to add the tools' prompts, for APIs whose descriptions are too short
   *     for them, such as OpenAI's
   * @return the text
   */
  public String systemPrompt(boolean withPrompts) {
    return ToolNames.namedIn(systemPromptWithIds(withPrompts));
  }

  /**
   * Returns the guidance for a system prompt, for hosts that offer the tools by their ids.
   *
   * @param withPrompts whether to add the tools' prompts
   * @return the text
   */
  public String systemPromptWithIds(boolean withPrompts) {
    var prompts = withPrompts ? tools().stream().map(Tool::getPrompt) : Stream.<String>empty();
    return Stream.concat(Stream.of(message.getGuidance()), prompts)
        .map(String::strip)
        .collect(Collectors.joining("\n\n"));
  }

  /**
   * Returns the tools for OpenAI's Chat Completions API, where the function is nested.
   *
   * <p>A description there may have at most 1,024 characters, so it is the tool's one sentence; the
   * prompts go into {@link #systemPrompt}. {@code strict} is off: it would make every optional
   * argument required.
   *
   * @return one definition a tool
   */
  public List<Map<String, Object>> forOpenAiChat() {
    return each(tool -> object("type", "function", "function", openAiFunction(tool)));
  }

  /**
   * Returns the tools for OpenAI's Responses API, where the definition is flat.
   *
   * @return one definition a tool
   */
  public List<Map<String, Object>> forOpenAiResponses() {
    return each(
        tool -> {
          Map<String, Object> definition = object("type", "function");
          definition.putAll(openAiFunction(tool));
          return definition;
        });
  }

  /**
   * Returns the tools for Anthropic's Messages API; the description holds the tool's prompt too.
   *
   * @return one definition a tool
   */
  public List<Map<String, Object>> forAnthropic() {
    return each(
        tool ->
            object(
                "name", ToolNames.functionName(tool.getId()),
                "description", ToolNames.namedIn(longDescription(tool)),
                "input_schema", schema(ToolNames.namedIn(tool.getInputSchemaJson()))));
  }

  /**
   * Returns the tools as the Model Context Protocol's {@code tools/list} has them, named by id.
   *
   * @return one definition a tool
   */
  public List<Map<String, Object>> forMcp() {
    return each(tool -> mcpTool(tool, UnaryOperator.identity()));
  }

  /**
   * Returns the same with mapped names, for MCP hosts that hand names to a model API as they are.
   *
   * @return one definition a tool
   */
  public List<Map<String, Object>> forMcpMapped() {
    return each(tool -> mcpTool(tool, ToolNames::namedIn));
  }

  private static Map<String, Object> openAiFunction(Tool tool) {
    return object(
        "name", ToolNames.functionName(tool.getId()),
        "description", ToolNames.namedIn(tool.getDescription()),
        "parameters", schema(ToolNames.namedIn(tool.getInputSchemaJson())),
        "strict", false);
  }

  /** The protocol wants an output schema to be of an object, so an array's is left out. */
  private static Map<String, Object> mcpTool(Tool tool, UnaryOperator<String> named) {
    Map<String, Object> hints = object("readOnlyHint", !tool.getWrites(), "openWorldHint", false);
    Map<String, Object> definition =
        object(
            "name", named.apply(tool.getId()),
            "description", named.apply(longDescription(tool)),
            "inputSchema", schema(named.apply(tool.getInputSchemaJson())),
            "annotations", hints);
    Map<String, Object> output = schema(named.apply(tool.getOutputSchemaJson()));
    if ("object".equals(output.get("type"))) {
      definition.put("outputSchema", output);
    }
    return definition;
  }

  private List<Map<String, Object>> each(Function<Tool, Map<String, Object>> shape) {
    return tools().stream().map(shape).toList();
  }

  private static String longDescription(Tool tool) {
    return (tool.getDescription() + "\n\n" + tool.getPrompt()).strip();
  }

  /** Leaves out what only says where a schema is from: a model needs neither. */
  private static Map<String, Object> schema(String json) {
    Map<String, Object> schema = GSON.fromJson(json, OBJECT);
    schema.remove("$schema");
    schema.remove("$id");
    return schema;
  }

  private static Map<String, Object> object(Object... keysAndValues) {
    Map<String, Object> object = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      object.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return object;
  }
}
