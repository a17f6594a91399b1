/** The catalogue as function definitions, and names on their way back. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  functionName,
  InvokeResult,
  systemPrompt,
  type Tool,
  toolId,
  toolsForAnthropic,
  toolsForMcp,
  toolsForOpenAI,
} from "../src/index.js";

const IDS = ["write", "read", "search", "tree", "profile_set"].map((name) => `ironclaw.memory.${name}`);
const INPUT = { $schema: "https://json-schema.org/draft/2020-12/schema", $id: "x", type: "object", properties: {} };
const BARE = { type: "object", properties: {} };

function tool(id: string, more: Partial<Tool> = {}): Tool {
  return {
    id,
    description: "Stores a fact.",
    inputSchemaJson: JSON.stringify(INPUT),
    outputSchemaJson: '{"type": "object"}',
    prompt: "Use it when asked.",
    writes: true,
    ...more,
  };
}

const WRITE = tool("ironclaw.memory.write");
const TREE = tool("ironclaw.memory.tree", { outputSchemaJson: '{"type": "array"}', prompt: "", writes: false });

for (const id of IDS) {
  test(`${id} goes out legal and comes back whole`, () => {
    const mapped = functionName(id);
    assert.match(mapped, /^[a-zA-Z0-9_-]{1,64}$/);
    assert.equal(toolId(mapped), id);
    assert.equal(toolId(id), id);
  });
}

for (const name of ["weather", "", "ironclaw.memory", "memory_write"]) {
  test(`'${name}' is left for the service to refuse`, () => assert.equal(toolId(name), name));
}

test("OpenAI's two APIs have their shapes, with strict said to be off", () => {
  const described = {
    name: "ironclaw_memory_write",
    description: "Stores a fact.",
    parameters: BARE,
    strict: false,
  };
  assert.deepEqual(toolsForOpenAI([WRITE]), [{ type: "function", function: described }]);
  assert.deepEqual(toolsForOpenAI([WRITE], { api: "responses" }), [{ type: "function", ...described }]);
});

test("Anthropic's description holds the prompt", () => {
  assert.deepEqual(toolsForAnthropic([WRITE]), [
    { name: "ironclaw_memory_write", description: "Stores a fact.\n\nUse it when asked.", input_schema: BARE },
  ]);
});

test("MCP keeps the ids, and has an output schema only of an object", () => {
  const [write, tree] = toolsForMcp([WRITE, TREE]);
  assert.deepEqual(write, {
    name: "ironclaw.memory.write",
    description: "Stores a fact.\n\nUse it when asked.",
    inputSchema: BARE,
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: false, openWorldHint: false },
  });
  assert.equal(tree?.outputSchema, undefined);
  assert.deepEqual(tree?.annotations, { readOnlyHint: true, openWorldHint: false });
  assert.equal(tree?.description, "Stores a fact.");
  assert.equal(toolsForMcp([WRITE], { dotted: false })[0]?.name, "ironclaw_memory_write");
});

test("texts that speak of the tools follow the names", () => {
  const speaking = "Not for facts: see `ironclaw.memory.profile_set`.";
  const inputSchemaJson = JSON.stringify({ ...INPUT, description: speaking });
  const told = tool("ironclaw.memory.write", { description: speaking, prompt: speaking, inputSchemaJson });
  for (const tools of [toolsForOpenAI([told]), toolsForAnthropic([told]), toolsForMcp([told], { dotted: false })]) {
    const text = JSON.stringify(tools);
    assert.ok(text.includes("ironclaw_memory_profile_set"));
    assert.ok(!text.includes("ironclaw.memory."));
  }
  assert.ok(toolsForMcp([told])[0]?.description.includes("`ironclaw.memory.profile_set`"));
});

test("the system prompt has the guidance, and on demand the prompts", () => {
  const catalogue = { tools: [WRITE, TREE], guidance: "See `ironclaw.memory.write`.\n" };
  assert.equal(systemPrompt(catalogue), "See `ironclaw_memory_write`.");
  assert.equal(systemPrompt(catalogue, { dotted: true }), "See `ironclaw.memory.write`.");
  assert.ok(
    systemPrompt(catalogue, { withPrompts: true }).startsWith("See `ironclaw_memory_write`.\n\nUse it when asked."),
  );
});

test("an error is put in words for the model", () => {
  assert.equal(new InvokeResult({ outputJson: '{"a":1}', advisories: [], error: undefined }).forModel(), '{"a":1}');
  const error = { kind: "input", reason: "INVALID_PATH", message: "No." };
  assert.deepEqual(JSON.parse(new InvokeResult({ outputJson: "", advisories: [], error }).forModel()), { error });
});
