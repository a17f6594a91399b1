package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.Gson;
import com.google.gson.JsonParser;
import dev.ironclaw.memory.v1.InvokeToolResponse;
import dev.ironclaw.memory.v1.ListToolsResponse;
import dev.ironclaw.memory.v1.Tool;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The catalogue as function definitions, and names on their way back. */
class ToolsTest {
  private static final String INPUT =
      "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\", \"$id\": \"x\","
          + " \"type\": \"object\", \"properties\": {\"limit\": {\"maximum\": 20}}}";
  private static final Map<String, Object> SCHEMA =
      Map.of("type", "object", "properties", Map.of("limit", Map.of("maximum", 20L)));
  private static final Tool WRITE =
      tool("write", "Stores a fact.", "{\"type\": \"object\"}", "Use it when asked.", true);
  private static final Tool TREE = tool("tree", "Lists.", "{\"type\": \"array\"}", "", false);

  private static Tool tool(
      String name, String description, String output, String prompt, boolean writes) {
    return Tool.newBuilder()
        .setId("ironclaw.memory." + name)
        .setDescription(description)
        .setInputSchemaJson(INPUT)
        .setOutputSchemaJson(output)
        .setPrompt(prompt)
        .setWrites(writes)
        .build();
  }

  private static ToolCatalogue catalogue(String guidance, Tool... tools) {
    var message = ListToolsResponse.newBuilder().setGuidance(guidance).addAllTools(List.of(tools));
    return new ToolCatalogue(message.build());
  }

  @ParameterizedTest
  @ValueSource(strings = {"write", "read", "search", "tree", "profile_set"})
  void namesGoOutLegalAndComeBackWhole(String name) {
    String id = "ironclaw.memory." + name;
    String mapped = ToolNames.functionName(id);
    assertTrue(mapped.matches("[a-zA-Z0-9_-]{1,64}"), mapped);
    assertEquals(id, ToolNames.toolId(mapped));
    assertEquals(id, ToolNames.toolId(id));
  }

  @ParameterizedTest
  @ValueSource(strings = {"weather", "", "ironclaw.memory", "memory_write"})
  void aForeignNameStaysAsItIs(String name) {
    assertEquals(name, ToolNames.toolId(name));
  }

  @Test
  void openAiChatNestsTheFunctionAndResponsesIsFlat() {
    Map<String, Object> function =
        Map.of(
            "name",
            "ironclaw_memory_write",
            "description",
            "Stores a fact.",
            "parameters",
            SCHEMA,
            "strict",
            false);
    var catalogue = catalogue("", WRITE);
    assertEquals(
        List.of(Map.of("type", "function", "function", function)), catalogue.forOpenAiChat());
    var flat = catalogue.forOpenAiResponses().get(0);
    assertEquals("function", flat.remove("type"));
    assertEquals(function, flat);
  }

  @Test
  void anthropicGetsThePromptInTheDescription() {
    var tools = catalogue("", WRITE, TREE).forAnthropic();
    assertEquals(
        Map.of(
            "name", "ironclaw_memory_write",
            "description", "Stores a fact.\n\nUse it when asked.",
            "input_schema", SCHEMA),
        tools.get(0));
    assertEquals("Lists.", tools.get(1).get("description"));
  }

  @Test
  void mcpKeepsTheDotsAndGivesOutputSchemasOfObjectsOnly() {
    var catalogue = catalogue("", WRITE, TREE);
    var tools = catalogue.forMcp();
    assertEquals(
        Map.of(
            "name",
            "ironclaw.memory.write",
            "description",
            "Stores a fact.\n\nUse it when asked.",
            "inputSchema",
            SCHEMA,
            "annotations",
            Map.of("readOnlyHint", false, "openWorldHint", false),
            "outputSchema",
            Map.of("type", "object")),
        tools.get(0));
    assertFalse(tools.get(1).containsKey("outputSchema"));
    assertEquals(
        Map.of("readOnlyHint", true, "openWorldHint", false), tools.get(1).get("annotations"));
    assertEquals("ironclaw_memory_write", catalogue.forMcpMapped().get(0).get("name"));
  }

  @Test
  void textsNameTheToolsAsTheModelSeesThem() {
    String text = "For a time zone, call `ironclaw.memory.profile_set`.";
    var tool =
        tool("write", text, "{}", text, true).toBuilder()
            .setInputSchemaJson(new Gson().toJson(Map.of("type", "object", "description", text)))
            .build();
    var catalogue = catalogue("", tool);
    for (var definitions :
        List.of(
            catalogue.forOpenAiChat(),
            catalogue.forOpenAiResponses(),
            catalogue.forAnthropic(),
            catalogue.forMcpMapped())) {
      String json = new Gson().toJson(definitions);
      assertTrue(json.contains("ironclaw_memory_profile_set"), json);
      assertFalse(json.contains("ironclaw.memory."), json);
    }
    String kept = (String) catalogue.forMcp().get(0).get("description");
    assertTrue(kept.contains("`ironclaw.memory.profile_set`"), kept);
  }

  @Test
  void theSystemPromptHasTheGuidanceAndOnDemandThePrompts() {
    var catalogue = catalogue("See `ironclaw.memory.write`.\n", WRITE);
    assertEquals("See `ironclaw_memory_write`.", catalogue.systemPrompt(false));
    assertEquals("See `ironclaw.memory.write`.", catalogue.systemPromptWithIds(false));
    assertEquals(
        "See `ironclaw_memory_write`.\n\nUse it when asked.", catalogue.systemPrompt(true));
  }

  @Test
  void aHostMayOfferSomeOfTheTools() {
    var reading = catalogue("Guidance.", WRITE, TREE).only(tool -> !tool.getWrites());
    assertEquals(List.of(TREE), reading.tools());
    assertEquals("Guidance.", reading.systemPrompt(false));
  }

  @Test
  void anErrorIsPutInWordsForTheModel() {
    var output = InvokeToolResponse.newBuilder().setOutputJson("{\"a\":1}").build();
    assertEquals("{\"a\":1}", new ToolResult(output).forModel());
    var failed = InvokeToolResponse.newBuilder();
    failed.getErrorBuilder().setKind("input").setReason("INVALID_PATH").setMessage("No <x>.");
    String words = new ToolResult(failed.build()).forModel();
    assertEquals(
        JsonParser.parseString(
            "{\"error\":{\"kind\":\"input\",\"reason\":\"INVALID_PATH\",\"message\":\"No <x>.\"}}"),
        JsonParser.parseString(words));
    assertTrue(words.contains("<x>"), words);
  }
}
