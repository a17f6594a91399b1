/** How one call is made over its tries, with the channel and the clock in the test's hand. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Metadata, ServiceError } from "@grpc/grpc-js";
import { type Call, Caller } from "../src/calls.js";
import type { Try } from "../src/channel.js";
import type { Clock } from "../src/clock.js";
import { DeadlineExceededError, OverloadedError, ShuttingDownError } from "../src/errors.js";
import type { CallOptions, Defaults } from "../src/options.js";
import { DEFAULT_RETRY } from "../src/retry.js";
import { Refusal } from "./scripted.js";

const BUSY = new Refusal("UNAVAILABLE", { reason: "OVERLOADED", retryAfterMs: 3_000 });

/** A clock that goes on only when somebody sleeps on it. */
class Hand implements Clock {
  time = 0;
  readonly slept: number[] = [];
  now = (): number => this.time;
  sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    await setImmediate(); // whatever is ready now comes before any time passes
    signal?.throwIfAborted();
    this.slept.push(milliseconds);
    this.time += milliseconds;
  };
}

/** A channel that fails by a list and then answers "tea", and keeps how it was tried. */
class Channel {
  readonly tries: Try[] = [];
  readonly #refusals: (Refusal | Error)[];

  constructor(...refusals: (Refusal | Error)[]) {
    this.#refusals = refusals;
  }

  unary = async <Answer>(_method: unknown, _request: Buffer, how: Try): Promise<Answer> => {
    this.tries.push(how);
    const refusal = this.#refusals.shift();
    if (refusal instanceof Refusal) throw Object.assign(new Error("failed"), refusal.status()) as ServiceError;
    if (refusal) throw refusal;
    return "tea" as Answer;
  };
}

const METHOD = { path: "/x/Y", requestSerialize: () => Buffer.alloc(0), responseDeserialize: () => "tea" };
const WRITE: Call<string> = { method: METHOD, request: Buffer.alloc(0), changes: true, conditional: false };
const READ: Call<string> = { ...WRITE, changes: false };
const DEFAULTS: Defaults = { scope: {}, deadlineMs: 10_000, retry: DEFAULT_RETRY, token: undefined };

interface Outcome {
  answer: Promise<string>;
  clock: Hand;
}

function make(channel: Channel, call = READ, options: CallOptions = {}, defaults = DEFAULTS): Outcome {
  const clock = new Hand();
  return { answer: new Caller(channel, clock).make(call, defaults, options), clock };
}

function header(metadata: Metadata | undefined, key: string): unknown {
  return metadata?.get(key)[0];
}

test("the server's delay is waited for, never less, and spread by a fifth at most", async () => {
  const { answer, clock } = make(new Channel(BUSY));
  assert.equal(await answer, "tea");
  assert.equal(clock.slept.length, 1);
  assert.ok(clock.slept[0] !== undefined && clock.slept[0] >= 3_000 && clock.slept[0] <= 3_600);
});

test("the deadline is for all tries together: later ones get what is left", async () => {
  const channel = new Channel(BUSY);
  const { answer, clock } = make(channel);
  await answer;
  assert.deepEqual(
    channel.tries.map((how) => how.timeoutMs),
    [10_000, 10_000 - (clock.slept[0] ?? 0)],
  );
});

test("a wait that would outlast the deadline is not begun", async () => {
  const { answer, clock } = make(new Channel(BUSY), READ, { deadlineMs: 2_999 });
  await assert.rejects(answer, OverloadedError);
  assert.deepEqual(clock.slept, []);
});

test("without a word from the server the delays double, and the last error is thrown after four tries", async () => {
  const down = new Refusal("UNAVAILABLE", { reason: "SHUTTING_DOWN" });
  const channel = new Channel(BUSY, down, down, down);
  const { answer, clock } = make(channel);
  await assert.rejects(answer, ShuttingDownError);
  assert.equal(channel.tries.length, 4);
  const [, second = 0, third = 0] = clock.slept;
  assert.ok(second >= 200 && second <= 400 && third >= 400 && third <= 800, `${clock.slept}`);
});

test("all tries of a change carry one request id, made by the client", async () => {
  const channel = new Channel(BUSY, new Refusal("UNAVAILABLE"));
  await make(channel, WRITE).answer;
  const ids = channel.tries.map((how) => header(how.metadata, "x-ironclaw-request-id"));
  assert.equal(ids.length, 3);
  assert.match(String(ids[0]), /^[0-9a-f-]{36}$/);
  assert.equal(new Set(ids).size, 1);
});

test("two changes have two request ids, a given one is kept, and a read has none", async () => {
  const channel = new Channel();
  await make(channel, WRITE).answer;
  await make(channel, WRITE).answer;
  await make(channel, WRITE, { requestId: "order-7" }).answer;
  await make(channel, READ).answer;
  const ids = channel.tries.map((how) => header(how.metadata, "x-ironclaw-request-id"));
  assert.notEqual(ids[0], ids[1]);
  assert.deepEqual(ids.slice(2), ["order-7", undefined]);
});

test("an abort between two tries rejects with the signal's reason", async () => {
  const stop = new AbortController();
  const reason = new Error("the user left");
  const clock = new Hand();
  clock.sleep = async (_milliseconds, signal) => {
    stop.abort(reason);
    signal?.throwIfAborted();
  };
  const channel = new Channel(BUSY);
  await assert.rejects(new Caller(channel, clock).make(READ, DEFAULTS, { signal: stop.signal }), reason);
  assert.equal(channel.tries.length, 1);
});

test("a signal that is aborted already lets nothing out", async () => {
  const channel = new Channel();
  const reason = new Error("never mind");
  await assert.rejects(make(channel, READ, { signal: AbortSignal.abort(reason) }).answer, reason);
  assert.deepEqual(channel.tries, []);
});

test("what isn't a call's failure is passed on as it is", async () => {
  const fault = new Error("the client is closed");
  await assert.rejects(make(new Channel(fault)).answer, fault);
});

test("a function is asked for the token at each call, and the tries of one call carry the same", async () => {
  let asked = 0;
  const defaults = { ...DEFAULTS, token: async () => `t${++asked}` };
  const channel = new Channel(BUSY);
  await make(channel, READ, {}, defaults).answer;
  await make(channel, READ, {}, defaults).answer;
  assert.deepEqual(
    channel.tries.map((how) => header(how.metadata, "authorization")),
    ["Bearer t1", "Bearer t1", "Bearer t2"],
  );
});

test("a token that never comes ends with the deadline, and nothing is sent", async () => {
  const channel = new Channel();
  const defaults = { ...DEFAULTS, token: () => new Promise<string>(() => {}) };
  const { answer, clock } = make(channel, READ, { deadlineMs: 500 }, defaults);
  await assert.rejects(answer, DeadlineExceededError);
  assert.deepEqual(clock.slept, [500]);
  assert.deepEqual(channel.tries, []);
});

test("a failure to get a token is the caller's own error", async () => {
  const fault = new Error("the vault is sealed");
  const defaults = { ...DEFAULTS, token: () => Promise.reject(fault) };
  await assert.rejects(make(new Channel(), READ, {}, defaults).answer, fault);
});

for (const deadlineMs of [Number.NaN, -1]) {
  test(`a deadline of ${deadlineMs} is refused`, async () => {
    await assert.rejects(make(new Channel(), READ, { deadlineMs }).answer, RangeError);
  });
}
