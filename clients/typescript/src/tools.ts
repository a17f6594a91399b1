/**
 * The tool catalogue as the function definitions of model APIs, and the way back from a model's tool name.
 *
 * Tool ids have dots, which the OpenAI and Anthropic APIs refuse in a function's name: `ironclaw.memory.profile_set`
 * becomes `ironclaw_memory_profile_set`, in the definition and in every text of the catalogue that speaks of the tool,
 * since a model calls what it reads. Definitions are plain objects, ready to be put as JSON.
 */

import type { Advisory } from "./generated/ironclaw/memory/v1/advisory.js";
import type {
  InvokeToolResponse,
  ListToolsResponse,
  Tool,
  ToolError,
} from "./generated/ironclaw/memory/v1/memory_service.js";

const PREFIX = "ironclaw.memory.";
const MAPPED_PREFIX = "ironclaw_memory_";

/** A JSON Schema of an object, as model APIs want a tool's arguments described. */
export interface ObjectSchema {
  type: "object";
  [keyword: string]: unknown;
}

/** A function as OpenAI describes it. */
export interface OpenAIFunction {
  name: string;
  description: string;
  parameters: ObjectSchema;
  strict: boolean;
}

/** A tool of OpenAI's Chat Completions API, where the function is nested. */
export interface OpenAIChatTool {
  type: "function";
  function: OpenAIFunction;
}

/** A tool of OpenAI's Responses API. */
export interface OpenAIResponsesTool extends OpenAIFunction {
  type: "function";
}

/** A tool of the Anthropic Messages API. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: ObjectSchema;
}

/** A tool as the Model Context Protocol's `tools/list` has it. */
export interface McpTool {
  name: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: { readOnlyHint: boolean; openWorldHint: boolean };
}

/** What goes back to the model after a tool call. */
export class InvokeResult implements InvokeToolResponse {
  /** The result by the tool's output schema, as JSON text; empty when `error` is set. */
  readonly outputJson: string;
  /** What makes a stored text poor memory. */
  readonly advisories: Advisory[];
  /** Why the call failed, for the model; undefined when it succeeded. */
  readonly error: ToolError | undefined;

  constructor(answer: InvokeToolResponse) {
    this.outputJson = answer.outputJson;
    this.advisories = answer.advisories;
    this.error = answer.error;
  }

  /** Returns the text of the model's tool result: `outputJson`, or the error as a JSON object. */
  forModel(): string {
    if (this.error === undefined) return this.outputJson;
    const { kind, reason, message } = this.error;
    return JSON.stringify({ error: { kind, reason, message } });
  }
}

/** Returns a tool's id as a name that every model API takes. */
export function functionName(toolId: string): string {
  return toolId.replaceAll(".", "_");
}

/**
 * Returns the tool's id for a name in either form; a name that is neither stays as it is, for the service to refuse.
 *
 * Only the prefix is mapped back, so the underscore of `profile_set` stays one.
 */
export function toolId(name: string): string {
  return name.startsWith(MAPPED_PREFIX) ? PREFIX + name.slice(MAPPED_PREFIX.length) : name;
}

/**
 * Returns the catalogue's guidance for a system prompt.
 *
 * @param catalogue what `listTools` returned.
 * @param options.withPrompts add the tools' prompts, for APIs whose descriptions are too short for them
 *   (`toolsForOpenAI`). Default false.
 * @param options.dotted name the tools by their ids, for hosts that offer them so. Default false.
 */
export function systemPrompt(
  catalogue: ListToolsResponse,
  { withPrompts = false, dotted = false }: { withPrompts?: boolean; dotted?: boolean } = {},
): string {
  const prompts = withPrompts ? catalogue.tools.map((tool) => tool.prompt) : [];
  const text = [catalogue.guidance, ...prompts].map((part) => part.trim()).join("\n\n");
  return dotted ? text : named(text);
}

/**
 * Returns the tools as OpenAI function definitions.
 *
 * A description there may have at most 1,024 characters, so it is the tool's one sentence; the tools' prompts go into the
 * system prompt, with `systemPrompt(catalogue, { withPrompts: true })`. `strict` is off: it would make every optional
 * argument required.
 *
 * @param options.api the shape of the Chat Completions API (`chat`, the default), or of the Responses API.
 */
export function toolsForOpenAI(tools: readonly Tool[], options?: { api?: "chat" }): OpenAIChatTool[];
export function toolsForOpenAI(tools: readonly Tool[], options: { api: "responses" }): OpenAIResponsesTool[];
export function toolsForOpenAI(
  tools: readonly Tool[],
  { api = "chat" }: { api?: "chat" | "responses" } = {},
): OpenAIChatTool[] | OpenAIResponsesTool[] {
  const functions = tools.map((tool) => ({
    name: functionName(tool.id),
    description: named(tool.description),
    parameters: schemaOf(named(tool.inputSchemaJson)) as ObjectSchema,
    strict: false,
  }));
  if (api === "responses") return functions.map((described) => ({ type: "function", ...described }));
  return functions.map((described) => ({ type: "function", function: described }));
}

/** Returns the tools for the Anthropic Messages API; the description holds the tool's prompt too. */
export function toolsForAnthropic(tools: readonly Tool[]): AnthropicTool[] {
  return tools.map((tool) => ({
    name: functionName(tool.id),
    description: named(longDescription(tool)),
    input_schema: schemaOf(named(tool.inputSchemaJson)) as ObjectSchema,
  }));
}

/**
 * Returns the tools as the Model Context Protocol's `tools/list` has them.
 *
 * An output schema is only given where it is of an object, as the protocol wants it; `tree` returns an array.
 *
 * @param options.dotted keep the ids as names, as the protocol allows; the default. False for hosts that hand names to a
 *   model API unmapped.
 */
export function toolsForMcp(tools: readonly Tool[], { dotted = true }: { dotted?: boolean } = {}): McpTool[] {
  return tools.map((tool) => mcpTool(tool, dotted ? (text) => text : named));
}

function mcpTool(tool: Tool, nameIn: (text: string) => string): McpTool {
  const output = schemaOf(nameIn(tool.outputSchemaJson));
  return {
    name: nameIn(tool.id),
    description: nameIn(longDescription(tool)),
    inputSchema: schemaOf(nameIn(tool.inputSchemaJson)) as ObjectSchema,
    annotations: { readOnlyHint: !tool.writes, openWorldHint: false },
    ...(output.type === "object" ? { outputSchema: output as ObjectSchema } : {}),
  };
}

/** Returns the text with the names of functions in place of the tools' ids. */
function named(text: string): string {
  return text.replaceAll(PREFIX, MAPPED_PREFIX);
}

function longDescription(tool: Tool): string {
  return `${tool.description}\n\n${tool.prompt}`.trim();
}

/** Returns a JSON Schema without what only says where it is from: a model needs neither `$schema` nor `$id`. */
function schemaOf(text: string): Record<string, unknown> {
  const { $schema, $id, ...schema } = JSON.parse(text);
  return schema;
}
