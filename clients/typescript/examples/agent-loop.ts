/**
 * A turn of an agent that uses its memory, with the model's side written down instead of asked for.
 *
 *     node agent-loop.js 127.0.0.1:50051        (or IRONCLAW_MEMORY_TARGET=...)
 *
 * Replace `scriptedModel` by a call of your model API: send it `system`, `tools` and `messages`, and return its message.
 */

import { MemoryClient, type Message, type OpenAIChatTool, systemPrompt, toolsForOpenAI } from "ironclaw-memory-client";

interface ToolCall {
  id: string;
  function: { name: string; arguments: string };
}

interface ChatMessage {
  role: Message["role"];
  content: string;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

const SCRIPT: ChatMessage[] = [
  {
    role: "assistant",
    content: "",
    tool_calls: [
      call("1", "ironclaw_memory_write", { target: "memory", content: "User is allergic to peanuts." }),
      call("2", "ironclaw_memory_search", { query: "allergies" }),
      call("3", "ironclaw_memory_read", { path: "../secrets.md" }), // a mistake, which it is told in words
    ],
  },
  { role: "assistant", content: "Noted: no peanuts." },
];

function call(id: string, name: string, args: object): ToolCall {
  return { id, function: { name, arguments: JSON.stringify(args) } };
}

/** Stands in for a model: gives the next reply of the script, if it may call what it calls. */
function scriptedModel(messages: ChatMessage[], tools: OpenAIChatTool[]): ChatMessage {
  const reply = SCRIPT[messages.filter((message) => message.role === "assistant").length];
  if (!reply) throw new Error("the script is over");
  const offered = tools.map((tool) => tool.function.name);
  const unknown = reply.tool_calls?.find((wanted) => !offered.includes(wanted.function.name));
  if (unknown) throw new Error(`the model called ${unknown.function.name}, which isn't offered`);
  return reply;
}

/** Answers a question, calling tools as long as the model asks for some, and returns the exchange. */
async function turn(memory: MemoryClient, question: string): Promise<ChatMessage[]> {
  const catalogue = await memory.listTools();
  const tools = toolsForOpenAI(catalogue.tools);
  const { block } = await memory.retrieveContext(question);
  const system = [systemPrompt(catalogue, { withPrompts: true }), block].join("\n\n");
  const messages: ChatMessage[] = [
    { role: "system", content: system },
    { role: "user", content: question },
  ];
  for (;;) {
    const reply = scriptedModel(messages, tools);
    messages.push(reply);
    if (!reply.tool_calls) return messages;
    for (const { id, function: wanted } of reply.tool_calls) {
      // What the model did wrong goes back to it in words; an outage is an exception, for the host to handle.
      const result = await memory.invoke(wanted.name, wanted.arguments);
      messages.push({ role: "tool", content: result.forModel(), tool_call_id: id });
    }
  }
}

const target = process.argv[2] ?? process.env.IRONCLAW_MEMORY_TARGET ?? "127.0.0.1:50051";
const client = new MemoryClient(target, { scope: { tenant: "example", user: "ann", thread: "chat-1" } });
try {
  const [, ...exchange] = await turn(client, "I can't eat peanuts.");
  for (const { role, content, tool_calls: calls } of exchange) {
    console.log(role, content || calls?.map((wanted) => wanted.function.name).join(", "));
  }
  const said = exchange.filter(({ role, content }) => content !== "" && role !== "tool");
  const recorded = await client.recordInteraction(said, { turnRunId: `run-${Date.now()}` });
  console.log("recorded as", recorded.path);
  const { block } = await client.retrieveContext("What should I cook?");
  console.log("the next turn begins with", block.includes("peanuts") ? "the allergy in mind" : "nothing");
} finally {
  client.close();
}
