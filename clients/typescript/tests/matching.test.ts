/** The matcher and the runner can fail: each rule of the vectors' README has a case that holds and one that doesn't. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryServiceError, type ScopeChanges, type StatusCode } from "../src/index.js";
import { Mismatch, match } from "./conformance/matching.js";
import { type Host, runScenario, type Step, type ToolRefusal, today, Values } from "./conformance/runner.js";

const CONFIG = Buffer.from('{"a": 1}').toString("base64");

const HOLDS: [string, unknown, unknown][] = [
  ["object by the keys given", { a: 1 }, { a: 1, b: 2 }],
  ["empty object", {}, { a: 1 }],
  ["list by its first elements", [1], [1, 2]],
  ["empty list", [], []],
  ["objects in a list", [{ a: 1 }], [{ a: 1, b: 2 }]],
  ["number printed as text", 7, "7"],
  ["text that stands for a number", "7", 7],
  ["boolean", true, true],
  ["null", null, null],
  ["any: false is a value", { $any: true }, false],
  ["any: 0 is a value", { $any: true }, 0],
  ["contains", { $contains: "b" }, "abc"],
  ["contains each", { $contains: ["a", "c"] }, "abc"],
  ["not contains", { $not_contains: ["x", "y"] }, "abc"],
  ["prefix", { $prefix: "a" }, "abc"],
  ["ends with", { $ends_with: "c" }, "abc"],
  ["max bytes", { $max_bytes: 3 }, "茶"],
  ["length of a list", { $length: 2 }, [1, 2]],
  ["length of a text, in characters", { $length: 2 }, "a😀"],
  ["operators together", { $length: 2, $each: { a: 1 } }, [{ a: 1 }, { a: 1 }]],
  ["each", { $each: { $prefix: "a" } }, ["ab", "ac"]],
  ["last", { $last: "b" }, ["a", "b"]],
  ["in", { $in: ["a", "b"] }, "b"],
  ["json", { $json: { a: 1 } }, '{"a": 1, "b": 2}'],
  ["json in base64", { $json_base64: { a: 1 } }, CONFIG],
];

const FAILS: [string, unknown, unknown][] = [
  ["object without the key", { a: 1 }, { b: 1 }],
  ["null isn't absent", { a: null }, {}],
  ["a default isn't absent in tool JSON", { a: 0 }, {}],
  ["what every object inherits is absent", { toString: { $any: true } }, {}],
  ["object against a list", { a: 1 }, [1]],
  ["object against null", { a: 1 }, null],
  ["deep", { a: { b: 1 } }, { a: { b: 2 } }],
  ["list too short", [1, 2], [1]],
  ["list out of order", [2], [1, 2]],
  ["empty list against elements", [], [1]],
  ["empty list against nothing", [], undefined],
  ["list against text", [1], "1"],
  ["other number", 7, 8],
  ["number against words", 7, "seven"],
  ["number against empty text", 0, ""],
  ["a boolean isn't a number", 1, true],
  ["a number isn't a boolean", true, 1],
  ["false isn't null", false, null],
  ["letter case", "a", "A"],
  ["text isn't a prefix", "a", "ab"],
  ["any: empty text", { $any: true }, ""],
  ["any: absent", { $any: true }, undefined],
  ["any: null", { $any: true }, null],
  ["contains one only", { $contains: ["a", "x"] }, "abc"],
  ["contains against a list", { $contains: "1" }, [1]],
  ["contains what it must not", { $not_contains: ["x", "b"] }, "abc"],
  ["not contains against nothing", { $not_contains: "x" }, undefined],
  ["other prefix", { $prefix: "b" }, "abc"],
  ["other end", { $ends_with: "b" }, "abc"],
  ["too many bytes, though one character", { $max_bytes: 2 }, "茶"],
  ["other length", { $length: 1 }, [1, 2]],
  ["length of nothing", { $length: 0 }, undefined],
  ["one that doesn't match", { $each: { a: 1 } }, [{ a: 1 }, { a: 2 }]],
  ["each of none proves nothing", { $each: { a: 1 } }, []],
  ["first isn't last", { $last: "a" }, ["a", "b"]],
  ["last of none", { $last: "a" }, []],
  ["not in", { $in: ["a", "b"] }, "c"],
  ["other JSON", { $json: { a: 2 } }, '{"a": 1}'],
  ["broken JSON", { $json: { a: 2 } }, "{"],
  ["JSON of nothing", { $json: {} }, undefined],
  ["other JSON in base64", { $json_base64: { a: 2 } }, CONFIG],
  ["broken base64", { $json_base64: { a: 1 } }, "%"],
  ["an operator that nobody knows", { $contians: "a" }, "a"],
  ["an operator that every object inherits", { $constructor: "a" }, "a"],
  ["one operator of two", { $length: 2, $each: { a: 1 } }, [{ a: 1 }]],
];

for (const [name, expected, actual] of HOLDS) {
  test(`matches: ${name}`, () => match(expected, actual));
}

for (const [name, expected, actual] of FAILS) {
  test(`does not match: ${name}`, () => assert.throws(() => match(expected, actual), Mismatch));
}

test("a mismatch says where it is and what was there", () => {
  const expected = { results: [{}, { path: "b" }] };
  const actual = { results: [{}, { path: "c" }] };
  assert.throws(() => match(expected, actual, "response"), {
    message: 'response.results[1].path: expected "b", got "c"',
  });
});

for (const value of [0, "", false, []]) {
  test(`an absent protobuf field is ${JSON.stringify(value)}, and nothing else`, () => {
    match({ a: value }, {}, "answer", true);
    assert.throws(() => match({ a: 1 }, {}, "answer", true), Mismatch);
    assert.throws(() => match({ a: [1] }, {}, "answer", true), Mismatch);
    assert.throws(() => match({ a: value }, { a: 2 }, "answer", true), Mismatch);
  });
}

test("placeholders and long texts are written out", () => {
  const values = new Values();
  values.saved.set("lease", "L1");
  const given = { a: ["${lease}/${today:UTC}"], b: { $join: ["x", { $repeat: ["yz", 3] }, "${lease}"] }, c: {} };
  assert.deepEqual(values.resolve(given), { a: [`L1/${today("UTC")}`], b: "xyzyzyzL1", c: {} });
  assert.throws(() => values.resolve("${none}"), Mismatch);
});

type Answer = unknown | MemoryServiceError | { refusal: ToolRefusal };

/** Answers from a list instead of over the wire, and keeps what it was asked. */
class ScriptedHost implements Host {
  readonly scopes: ScopeChanges[] = [];
  readonly asked: [string, unknown][] = [];
  readonly #answers: Answer[];

  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  within(scope: ScopeChanges): Host {
    this.scopes.push(scope);
    return this;
  }

  async invoke(tool: string, argumentsJson: string) {
    const answer = this.#answer(tool, JSON.parse(argumentsJson));
    return answer instanceof ToolError ? { error: answer } : { output: answer };
  }

  async call(rpc: string, request: unknown): Promise<Record<string, unknown>> {
    return this.#answer(rpc, request) as Record<string, unknown>;
  }

  #answer(name: string, given: unknown): unknown {
    this.asked.push([name, given]);
    const answer = this.#answers.shift();
    if (answer instanceof MemoryServiceError) throw answer;
    return answer;
  }
}

class ToolError implements ToolRefusal {
  readonly kind: string;
  readonly reason: string;

  constructor(kind: string, reason: string) {
    this.kind = kind;
    this.reason = reason;
  }
}

function refusal(code: StatusCode, reason: string): MemoryServiceError {
  const message = "No.";
  return new MemoryServiceError({
    code,
    reason,
    message,
    kind: "",
    metadata: {},
    fieldViolations: [],
    retryAfterMs: undefined,
  });
}

async function run(steps: Step[], host: ScriptedHost, thread?: string, dateIn = today): Promise<ScriptedHost> {
  await runScenario({ suite: "s", name: "n", steps, ...(thread ? { thread } : {}) }, host, "t", dateIn);
  return host;
}

const TREE: Step = { tool: "ironclaw.memory.tree", arguments: {} };
const READ: Step = { tool: "ironclaw.memory.read", arguments: { path: "a" } };
const RPC: Step = { rpc: "p.S/M", request: {} };
const NOT_FOUND = refusal("NOT_FOUND", "NOT_FOUND");

const BROKEN: [string, object, unknown][] = [
  ["other output", { ...READ, output: { content: "x" } }, { content: "y" }],
  ["error instead of an output", { ...READ, output: { content: "x" } }, new ToolError("input", "NOT_FOUND")],
  ["error where success goes without saying", READ, new ToolError("input", "NOT_FOUND")],
  ["the call itself fails", READ, NOT_FOUND],
  ["output instead of an error", { ...READ, error: { kind: "input" } }, { content: "y" }],
  ["other kind", { ...READ, error: { kind: "input" } }, new ToolError("operation", "X")],
  ["other reason", { ...READ, error: { kind: "input", reason: "A" } }, new ToolError("input", "B")],
  ["tree must be equal", { ...TREE, output: ["a"] }, ["a", "b"]],
  ["other response", { ...RPC, response: { a: 1 } }, { a: 2 }],
  ["status instead of a response", { ...RPC, response: {} }, NOT_FOUND],
  ["response instead of a status", { ...RPC, status: "NOT_FOUND", reason: "NOT_FOUND" }, {}],
  ["other status", { ...RPC, status: "ABORTED", reason: "NOT_FOUND" }, NOT_FOUND],
  ["other status reason", { ...RPC, status: "NOT_FOUND", reason: "OTHER" }, NOT_FOUND],
  ["nothing to save", { ...RPC, save: { lease: "id" } }, {}],
  ["misspelt key", { ...READ, ouput: { content: "x" } }, { content: "x" }],
];

for (const [name, step, answer] of BROKEN) {
  test(`a step fails its scenario: ${name}`, async () => {
    await assert.rejects(run([READ, step], new ScriptedHost({}, answer)), (thrown) => {
      assert.ok(thrown instanceof Mismatch, String(thrown));
      assert.match(thrown.message, /^step 2 /);
      return true;
    });
  });
}

test("steps that hold let the scenario go on to its end", async () => {
  const steps: Step[] = [
    { ...TREE, output: ["a"] },
    { ...READ, error: { kind: "input", reason: { $in: ["A", "B"] } } },
    { ...RPC, save: { lease: "id" }, response: { id: "7", gone: 0 } },
    { rpc: "p.S/N", request: { lease: "${lease}" }, status: "NOT_FOUND", reason: "NOT_FOUND" },
  ];
  const host = await run(steps, new ScriptedHost(["a"], new ToolError("input", "B"), { id: "7" }, NOT_FOUND));
  assert.deepEqual(host.asked.at(-1), ["p.S/N", { lease: "7" }]);
});

test("a step runs as alice in the scenario's tenant and thread, less or more what `as` says, for that step alone", async () => {
  const other = { ...TREE, as: { tenant: "other", user: null, agent: "a" } };
  const { scopes } = await run([other, TREE], new ScriptedHost([], []), "t1");
  assert.deepEqual(scopes, [
    { tenant: "t-other", user: undefined, thread: "t1", agent: "a" },
    { tenant: "t", user: "alice", thread: "t1" },
  ]);
});

test("a mismatch at midnight is tried again in a fresh tenant; without a new date it stands", async () => {
  const step = { ...READ, output: { path: "daily/${today:UTC}.md" } };
  const dates = ["2026-12-01", "2026-12-01", "2026-12-02", "2026-12-02"];
  const midnight = (): string => dates.shift() ?? assert.fail("asked too often");
  const host = new ScriptedHost({ path: "daily/2026-12-02.md" }, { path: "daily/2026-12-02.md" });
  const { scopes } = await run([step], host, undefined, midnight);
  assert.deepEqual(
    scopes.map((scope) => scope.tenant),
    ["t", "t-next-day"],
  );
  const wrong = new ScriptedHost({ path: "daily/2026-12-02.md" });
  await assert.rejects(
    run([step], wrong, undefined, () => "2026-12-01"),
    Mismatch,
  );
});
