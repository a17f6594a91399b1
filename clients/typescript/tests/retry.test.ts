/** When calls are repeated: the rule as a function, and the client against a service that fails by script. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { BY_REASON } from "../src/failure.js";
import {
  ContentChangedError,
  DeadlineExceededError,
  MemoryClient,
  MemoryServiceError,
  OutcomeUnknownError,
  OverloadedError,
  type StatusCode,
  UnreachableError,
} from "../src/index.js";
import { type Repetition, type RetryPolicy, retryPolicy, Tries } from "../src/retry.js";
import { Refusal, type Script, SILENCE, serveScript } from "./scripted.js";

const READ: Repetition = { changes: false, conditional: false };
const CHANGE: Repetition = { changes: true, conditional: false };
const CONDITIONAL: Repetition = { changes: true, conditional: true };
const BUSY = new Refusal("UNAVAILABLE", { reason: "OVERLOADED" });
const TEA = { content: "tea" };

function error(code: StatusCode, reason: keyof typeof BY_REASON | "" = "", retryAfterMs?: number): MemoryServiceError {
  const details = { code, reason, message: "No.", kind: "", metadata: {}, fieldViolations: [], retryAfterMs };
  return new (reason === "" ? MemoryServiceError : BY_REASON[reason])(details);
}

function tries(repetition: Repetition, given: { policy?: Partial<RetryPolicy>; expiresAt?: number } = {}): Tries {
  return new Tries(retryPolicy(given.policy), given.expiresAt ?? 1e9, repetition);
}

for (const code of Object.keys(status).filter((name) => Number.isNaN(Number(name))) as StatusCode[]) {
  if (code === "OK" || code === "UNAVAILABLE") continue;
  test(`${code} alone is never repeated`, () => {
    for (const repetition of [READ, CHANGE, CONDITIONAL]) {
      assert.equal(tries(repetition).delayAfter(error(code), 0), undefined);
    }
  });
}

const RULES: [StatusCode, keyof typeof BY_REASON, Repetition, boolean][] = [
  ["UNAVAILABLE", "OVERLOADED", READ, true],
  ["UNAVAILABLE", "OVERLOADED", CONDITIONAL, true],
  ["UNAVAILABLE", "STORAGE_UNAVAILABLE", CHANGE, true],
  ["UNAVAILABLE", "OUTCOME_UNKNOWN", CHANGE, false],
  ["UNAVAILABLE", "OUTCOME_UNKNOWN", READ, false],
  ["RESOURCE_EXHAUSTED", "RATE_LIMITED", READ, true],
  ["RESOURCE_EXHAUSTED", "RATE_LIMITED", CONDITIONAL, true],
  ["RESOURCE_EXHAUSTED", "SCOPE_QUOTA", CHANGE, false],
  ["ABORTED", "CAS_EXHAUSTED", CHANGE, true],
  ["ABORTED", "CAS_EXHAUSTED", CONDITIONAL, false],
  ["ABORTED", "CAS_EXHAUSTED", READ, false],
  ["ABORTED", "CONTENT_CHANGED", CHANGE, false],
  ["ABORTED", "CONTENT_CHANGED", CONDITIONAL, false],
];

for (const [code, reason, repetition, repeated] of RULES) {
  const kind = repetition.conditional ? "conditional change" : repetition.changes ? "change" : "read";
  test(`a ${kind} that is ${reason} is ${repeated ? "" : "not "}repeated`, () => {
    assert.equal(tries(repetition).delayAfter(error(code, reason), 0) !== undefined, repeated);
  });
}

test("delays grow, are spread and end", () => {
  const one = tries(READ, { policy: { maxTries: 6, firstDelayMs: 100, maxDelayMs: 500 } });
  for (const ceiling of [100, 200, 400, 500, 500]) {
    const delay = one.delayAfter(error("UNAVAILABLE"), 0);
    assert.ok(delay !== undefined && delay >= ceiling / 2 && delay <= ceiling, `${delay} of ${ceiling}`);
  }
  assert.equal(one.delayAfter(error("UNAVAILABLE"), 0), undefined);
});

test("the server's delay is never cut short, even beyond the longest of our own", () => {
  const delay = tries(READ, { policy: { maxDelayMs: 10 } }).delayAfter(error("UNAVAILABLE", "OVERLOADED", 7_000), 0);
  assert.ok(delay !== undefined && delay >= 7_000 && delay <= 8_400);
});

test("a wait that would outlast the deadline is not begun", () => {
  const late = error("UNAVAILABLE", "OVERLOADED", 5_000);
  assert.equal(tries(READ, { expiresAt: 4_000 }).delayAfter(late, 0), undefined);
  assert.notEqual(tries(READ, { expiresAt: 7_000 }).delayAfter(late, 0), undefined);
});

for (const retry of [{ maxTries: 0 }, { maxTries: Number.NaN }, { firstDelayMs: -1 }, { maxDelayMs: -0.1 }]) {
  test(`a policy of ${JSON.stringify(retry)} is refused`, () => {
    assert.throws(() => new MemoryClient("127.0.0.1:1", { retry }), RangeError);
  });
}

function connect(script: Script, retry: Partial<RetryPolicy> = {}): MemoryClient {
  return new MemoryClient(script.target, {
    scope: { tenant: "acme", user: "ann" },
    retry: { firstDelayMs: 1, ...retry },
    deadlineMs: 30_000,
  });
}

test("a read is repeated over the wire until it succeeds", async () => {
  await using script = await serveScript();
  using client = connect(script);
  script.answers = [BUSY, BUSY, TEA];
  assert.equal((await client.read("MEMORY.md")).content, "tea");
  assert.deepEqual(
    script.seen.map((seen) => seen.method),
    ["read", "read", "read"],
  );
  assert.equal(script.seen[0]?.metadata["x-ironclaw-request-id"], undefined);
});

test("the first try is the only one where repeating is turned off", async () => {
  await using script = await serveScript();
  using client = connect(script, { maxTries: 1 });
  script.answers = [BUSY, TEA];
  await assert.rejects(client.read("MEMORY.md"), OverloadedError);
  assert.equal(script.seen.length, 1);
});

const CHANGES: [string, (client: MemoryClient) => Promise<unknown>, object][] = [
  ["write", (client) => client.write({ content: "tea" }), {}],
  ["profileSet", (client) => client.profileSet({ timezone: "UTC" }), {}],
  ["invoke", (client) => client.invoke("ironclaw.memory.write", "{}"), { outputJson: "{}" }],
  ["restoreVersion", (client) => client.restoreVersion("MEMORY.md", 1), {}],
  ["deleteDocument", (client) => client.deleteDocument("MEMORY.md"), {}],
  ["claimCuration", (client) => client.claimCuration(), {}],
  ["recordInteraction", (client) => client.recordInteraction([], { turnRunId: "r" }), {}],
];

for (const [name, call, answer] of CHANGES) {
  test(`${name} is repeated as the same request under one id`, async () => {
    await using script = await serveScript();
    using client = connect(script);
    script.answers = [BUSY, answer];
    await call(client);
    const [first, second] = script.seen;
    assert.match(String(first?.metadata["x-ironclaw-request-id"]), /^[0-9a-f-]{36}$/);
    assert.equal(first?.metadata["x-ironclaw-request-id"], second?.metadata["x-ironclaw-request-id"]);
    assert.deepEqual(first?.request, second?.request);
  });
}

const FINAL: [Refusal, new (...args: never[]) => MemoryServiceError][] = [
  [new Refusal("UNAVAILABLE", { reason: "OUTCOME_UNKNOWN" }), OutcomeUnknownError],
  [new Refusal("ABORTED", { reason: "CONTENT_CHANGED" }), ContentChangedError],
  [new Refusal("DEADLINE_EXCEEDED", { reason: "DEADLINE_EXCEEDED" }), DeadlineExceededError],
  [new Refusal("UNKNOWN"), MemoryServiceError],
];

for (const [refusal, expected] of FINAL) {
  test(`a write that is ${refusal.said.reason ?? refusal.code} is tried once`, async () => {
    await using script = await serveScript();
    using client = connect(script);
    script.answers = [refusal, {}];
    await assert.rejects(client.write({ content: "tea" }), expected);
    assert.equal(script.seen.length, 1);
  });
}

const CONDITIONS: [string, (client: MemoryClient) => Promise<unknown>][] = [
  ["write with expectedSha256", (client) => client.write({ content: "x", expectedSha256: "ab".repeat(32) })],
  ["write with mustNotExist", (client) => client.write({ content: "x", mustNotExist: true })],
  ["restoreVersion", (client) => client.restoreVersion("a", 1, { expectedSha256: "ab".repeat(32) })],
  ["deleteDocument", (client) => client.deleteDocument("a", { expectedSha256: "ab".repeat(32) })],
];

for (const [name, call] of CONDITIONS) {
  test(`${name} under a precondition isn't repeated after a lost race`, async () => {
    await using script = await serveScript();
    using client = connect(script);
    script.answers = [new Refusal("ABORTED", { reason: "CAS_EXHAUSTED" }), {}];
    await assert.rejects(call(client), { reason: "CAS_EXHAUSTED" });
    assert.equal(script.seen.length, 1);
  });
}

test("a call's deadline overrides the client's, and the server sees it", async () => {
  await using script = await serveScript();
  using client = new MemoryClient(script.target, { deadlineMs: 9_000_000 });
  script.answers = [TEA, TEA];
  await client.read("MEMORY.md", { deadlineMs: 3_000_000 });
  await client.read("MEMORY.md");
  const [own = 0, usual = 0] = script.seen.map((seen) => seen.secondsLeft);
  assert.ok(own > 1_500 && own < 4_500, `${own}`);
  assert.ok(usual > 4_500 && usual < 13_500, `${usual}`);
});

test("a silent server costs the deadline and no more tries", async () => {
  await using script = await serveScript();
  using client = connect(script);
  script.answers = [SILENCE, TEA];
  await assert.rejects(client.read("MEMORY.md", { deadlineMs: 200 }), (thrown) => {
    assert.ok(thrown instanceof DeadlineExceededError);
    assert.equal(thrown.reason, "");
    return true;
  });
  assert.ok(script.seen.length <= 1);
});

// It has no deadline, so that nothing but the abort can end it.
test("an abort ends a call in flight with the signal's reason", { timeout: 60_000 }, async () => {
  await using script = await serveScript();
  using client = connect(script);
  script.answers = [SILENCE];
  const stop = new AbortController();
  const tried = script.nextTry();
  const answer = client.read("MEMORY.md", { signal: stop.signal, deadlineMs: Number.POSITIVE_INFINITY });
  const reason = new Error("the user left");
  const rejected = assert.rejects(answer, reason);
  await tried;
  stop.abort(reason);
  await rejected;
});

test("closing the client cancels its calls, and later ones aren't begun", async () => {
  await using script = await serveScript();
  const client = connect(script);
  script.answers = [SILENCE];
  const tried = script.nextTry();
  const rejected = assert.rejects(client.read("MEMORY.md"), { name: "CallCancelledError", code: "CANCELLED" });
  await tried;
  client.withScope({ agent: "coder" }).close();
  await rejected;
  await assert.rejects(client.read("MEMORY.md"), /closed/);
});

test("where nobody listens, the error is UnreachableError without a reason", async () => {
  const { target } = await serveScript().then(async (script) => {
    await script[Symbol.asyncDispose]();
    return script;
  });
  using client = new MemoryClient(target, { scope: { tenant: "a", user: "b" }, retry: { maxTries: 1 } });
  await assert.rejects(client.read("MEMORY.md"), (thrown) => {
    assert.ok(thrown instanceof UnreachableError);
    assert.deepEqual([thrown.code, thrown.reason, thrown.kind], ["UNAVAILABLE", "", ""]);
    assert.match(thrown.message, /^UNAVAILABLE: /);
    return true;
  });
});
