/** Scope values as call metadata, and clients that share a connection. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryClient } from "../src/index.js";
import { callMetadata } from "../src/scope.js";
import { serveScript } from "./scripted.js";

test("only what is given travels, since an empty value would be refused", () => {
  assert.deepEqual(callMetadata({ tenant: "acme", user: "ann", agent: undefined }).getMap(), {
    "x-ironclaw-tenant-id": "acme",
    "x-ironclaw-user-id": "ann",
  });
});

test("every part has its key", () => {
  const scope = { tenant: "t", user: "u", agent: "a", project: "p", thread: "h" };
  assert.deepEqual(callMetadata(scope, { requestId: "r", correlationId: "c" }).getMap(), {
    "x-ironclaw-tenant-id": "t",
    "x-ironclaw-user-id": "u",
    "x-ironclaw-agent-id": "a",
    "x-ironclaw-project-id": "p",
    "x-ironclaw-thread-id": "h",
    "x-ironclaw-request-id": "r",
    "x-ironclaw-correlation-id": "c",
  });
});

for (const user of ["王芳", "é", " ann", "ann ", "a\tb", "a\nb", "\x7f", "\u00a0", "😀"]) {
  test(`${JSON.stringify(user)} travels as bytes, and only so`, () => {
    assert.deepEqual(callMetadata({ user }).getMap(), { "x-ironclaw-user-id-bin": Buffer.from(user) });
  });
}

for (const user of ["ann", "a b", "", "~!#", "%E7"]) {
  test(`'${user}' travels as it is`, () => {
    assert.deepEqual(callMetadata({ user }).getMap(), { "x-ironclaw-user-id": user });
  });
}

test("a lone surrogate is refused before anything is sent", async () => {
  await using script = await serveScript();
  using client = new MemoryClient(script.target, { scope: { tenant: "acme", user: "\ud800" } });
  await assert.rejects(client.read("MEMORY.md"), TypeError);
  assert.deepEqual(script.seen, []);
});

test("withScope changes a part and leaves the client alone; undefined takes a part away", () => {
  using client = new MemoryClient("127.0.0.1:1", {
    scope: { tenant: "acme", user: "ann", agent: "coder", thread: "t1" },
  });
  const other = client.withScope({ agent: undefined, project: "apollo" });
  assert.deepEqual(callMetadata(other.scope).getMap(), {
    "x-ironclaw-tenant-id": "acme",
    "x-ironclaw-user-id": "ann",
    "x-ironclaw-project-id": "apollo",
    "x-ironclaw-thread-id": "t1",
  });
  assert.deepEqual(client.scope, { tenant: "acme", user: "ann", agent: "coder", thread: "t1" });
});

test("a call's scope stands in place of the client's", async () => {
  await using script = await serveScript();
  using client = new MemoryClient(script.target, { scope: { tenant: "acme", user: "ann", agent: "coder" } });
  script.answers = [{ content: "tea" }];
  await client.read("MEMORY.md", { scope: { tenant: "acme", user: "ben" }, correlationId: "corr-9" });
  const { metadata = {} } = script.seen[0] ?? {};
  assert.equal(metadata["x-ironclaw-user-id"], "ben");
  assert.equal(metadata["x-ironclaw-correlation-id"], "corr-9");
  assert.ok(!("x-ironclaw-agent-id" in metadata));
});

test("without a scope none is sent, for a credential that pins it", async () => {
  await using script = await serveScript();
  using client = new MemoryClient(script.target);
  script.answers = [{ content: "tea" }];
  await client.read("MEMORY.md");
  assert.deepEqual(
    Object.keys(script.seen[0]?.metadata ?? {}).filter((key) => key.startsWith("x-")),
    [],
  );
});
