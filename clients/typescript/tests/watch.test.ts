/** `watchEvents`: over breaks by script, and against the real service. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  DeadlineExceededError,
  EventKind,
  InvalidArgumentsError,
  MemoryClient,
  type Scope,
  ShuttingDownError,
  type WatchEventsResponse,
} from "../src/index.js";
import { Refusal, type Script, SILENCE, serveScript } from "./scripted.js";
import { ServerProcess } from "./server.js";

const STOPPING = new Refusal("UNAVAILABLE", { reason: "SHUTTING_DOWN" });

function place(cursor: string): WatchEventsResponse {
  return { event: undefined, cursor };
}

function connect({ target }: Script, maxTries = 4): MemoryClient {
  return new MemoryClient(target, { scope: { tenant: "acme", user: "ann" }, retry: { firstDelayMs: 1, maxTries } });
}

/** Returns the cursors of a watch, to its end or as many as asked for. */
async function cursors(watch: AsyncIterable<WatchEventsResponse>, count = Number.POSITIVE_INFINITY): Promise<string[]> {
  const found: string[] = [];
  for await (const { cursor } of watch) {
    found.push(cursor);
    if (found.length >= count) break;
  }
  return found;
}

test("a watch goes on with the last cursor when the server stops, and counts its tries anew with each message", async () => {
  await using script = await serveScript();
  using client = connect(script, 2);
  script.answers = [[place("c1"), place("c2"), STOPPING], [place("c3"), STOPPING], [place("c4")]];
  assert.deepEqual(await cursors(client.watchEvents({ cursor: "c0", wholeTenant: true, kinds: [EventKind.WRITTEN] })), [
    "c1",
    "c2",
    "c3",
    "c4",
  ]);
  assert.deepEqual(
    script.seen.map(({ request }) => request),
    ["c0", "c2", "c3"].map((cursor) => ({ cursor, wholeTenant: true, kinds: ["EVENT_KIND_WRITTEN"] })),
  );
  assert.equal(script.seen[0]?.metadata["x-ironclaw-request-id"], undefined);
});

test("a service that stays away ends the watch with its last error", async () => {
  await using script = await serveScript();
  using client = connect(script, 3);
  script.answers = [[place("c1"), STOPPING], [STOPPING], [STOPPING], [place("c2")]];
  const watch = client.watchEvents();
  assert.equal((await watch.next()).value?.cursor, "c1");
  await assert.rejects(watch.next(), ShuttingDownError);
  assert.equal(script.seen.length, 3);
});

test("each try asks for a token", async () => {
  await using script = await serveScript();
  let asked = 0;
  using client = new MemoryClient(script.target, { token: async () => `t${++asked}`, retry: { firstDelayMs: 1 } });
  script.answers = [[STOPPING], [place("c1")]];
  assert.deepEqual(await cursors(client.watchEvents()), ["c1"]);
  assert.deepEqual(
    script.seen.map(({ metadata }) => metadata.authorization),
    ["Bearer t1", "Bearer t2"],
  );
});

test("an abort ends a watch that waits, with the signal's reason", async () => {
  await using script = await serveScript();
  using client = connect(script);
  script.answers = [[place("c1"), SILENCE]];
  const stop = new AbortController();
  const watch = client.watchEvents({ signal: stop.signal });
  await watch.next();
  const reason = new Error("enough");
  const rejected = assert.rejects(watch.next(), reason);
  stop.abort(reason);
  await rejected;
  assert.equal(script.seen.length, 1);
});

test("what the caller's own loop throws is not taken for a failure of the watch", async () => {
  await using script = await serveScript();
  using client = connect(script);
  script.answers = [[place("c1"), place("c2"), SILENCE]];
  const fault = new Error("mine");
  const loop = async (): Promise<void> => {
    for await (const _item of client.watchEvents()) throw fault;
  };
  await assert.rejects(loop(), fault);
  assert.equal(script.seen.length, 1);
});

test("a kind that doesn't exist is refused before anything is sent", () => {
  using client = new MemoryClient("127.0.0.1:1");
  for (const kind of ["rained", EventKind.UNSPECIFIED, EventKind.UNRECOGNIZED]) {
    assert.throws(() => client.watchEvents({ kinds: [kind as EventKind] }), TypeError);
  }
});

let server: ServerProcess;
before(async () => {
  server = await ServerProcess.start();
});
after(() => server[Symbol.asyncDispose]());

function real(tenant: string): MemoryClient {
  return new MemoryClient(server.address, { scope: scopeOf(tenant), deadlineMs: 60_000 });
}

function scopeOf(tenant: string): Scope {
  return { tenant, user: "ann", agent: "helper" };
}

test("the first item tells the place alone, and then each event has its facts", async () => {
  using client = real("facts");
  const watch = client.watchEvents();
  const first = await watch.next();
  assert.ok(first.value && first.value.event === undefined && first.value.cursor !== "");
  await client.write({ content: "User prefers tea.", target: "memory", correlationId: "corr-9" });
  const checked = (await watch.next()).value?.event;
  const written = (await watch.next()).value?.event;
  await watch.return();
  assert.equal(checked?.kind, EventKind.CHECKED);
  assert.equal(checked?.safety?.protectedClass, "memory_md");
  assert.equal(written?.kind, EventKind.WRITTEN);
  assert.deepEqual([written?.sizeBytes, written?.correlationId, written?.safety], [18, "corr-9", undefined]);
  assert.deepEqual(written?.scope, { tenantId: "facts", userId: "ann", agentId: "helper", projectId: undefined });
  assert.ok(written?.time instanceof Date);
});

test("a cursor goes on where it was taken, and only with the kinds that were asked for", async () => {
  using client = real("cursor");
  const [cursor = ""] = await cursors(client.watchEvents(), 1);
  await client.write({ content: "a", target: "a.md" });
  await client.search("a");
  await client.deleteDocument("a.md");
  const kinds: EventKind[] = [];
  for await (const { event } of client.watchEvents({ cursor, kinds: [EventKind.WRITTEN, EventKind.DELETED] })) {
    if (event) kinds.push(event.kind);
    if (kinds.length === 2) break;
  }
  assert.deepEqual(kinds, [EventKind.WRITTEN, EventKind.DELETED]);
});

test("a made-up cursor is refused by the service, and a deadline ends a watch", async () => {
  using client = real("refused");
  await assert.rejects(client.watchEvents({ cursor: "made-up" }).next(), InvalidArgumentsError);
  await assert.rejects(cursors(client.watchEvents({ deadlineMs: 500 })), DeadlineExceededError);
});
