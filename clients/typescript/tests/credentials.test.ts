/** Where a credential goes, and where it never does. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { MemoryClient } from "../src/index.js";
import { serveScript } from "./scripted.js";

const SCOPE = { tenant: "acme", user: "ann" };

test("a token is sent as a bearer, and none without one", async () => {
  await using script = await serveScript();
  script.answers = [{ content: "tea" }, { content: "tea" }];
  for (const token of ["icm_x", undefined]) {
    using client = new MemoryClient(script.target, { scope: SCOPE, token });
    await client.read("MEMORY.md");
  }
  assert.deepEqual(
    script.seen.map((seen) => seen.metadata.authorization),
    ["Bearer icm_x", undefined],
  );
});

for (const token of ["", "a b", "a\nb", "\u00e9", "\ud800", "Bearer x"]) {
  test(`${JSON.stringify(token)} is no token: nothing is sent, and the error doesn't quote it`, async () => {
    await using script = await serveScript();
    using client = new MemoryClient(script.target, { scope: SCOPE, token });
    await assert.rejects(client.read("MEMORY.md"), (thrown) => {
      assert.ok(thrown instanceof TypeError);
      assert.equal(thrown.message, "a token must be printable ASCII without spaces");
      return true;
    });
    assert.deepEqual(script.seen, []);
  });
}

for (const target of [
  "127.0.0.1:1",
  "127.9.9.9:1",
  "localhost:1",
  "[::1]:1",
  "unix:/run/memory.sock",
  "unix:///run/memory.sock",
  "dns:///localhost:1",
  "dns:localhost:1",
  "ipv4:127.0.0.1:1",
  "ipv6:[::1]:1",
]) {
  test(`a token may go in the clear to ${target}`, () => {
    new MemoryClient(target, { scope: SCOPE, token: "icm_x" }).close();
  });
}

for (const target of [
  "memory.internal:1",
  "10.0.0.7:1",
  "0.0.0.0:1",
  "[fd00::1]:1",
  "dns:///memory:1",
  "dns://127.0.0.1/memory:1",
  "dns:evil.example/127.0.0.1:1",
  "dns:///evil.example/127.0.0.1:1",
  "ipv4:10.0.0.7:1",
  "localhost.evil.example:1",
  "127.0.0.1.evil.example:1",
  "unix-abstract:memory", // gRPC for Node doesn't know the scheme, and would ask DNS for a host of that name
  "ipv4:127.0.0.1:1,10.0.0.7:1",
  "user@localhost:1",
  "",
]) {
  test(`a token never goes in the clear to '${target}'`, () => {
    assert.throws(() => new MemoryClient(target, { scope: SCOPE, token: "icm_x" }), /in the clear/);
  });
}

test("with TLS a token may go anywhere, and without a token so may a call", () => {
  new MemoryClient("memory.internal:1", { scope: SCOPE, token: "icm_x", tls: {} }).close();
  new MemoryClient("memory.internal:1", { scope: SCOPE }).close();
});

test("a proxy from the environment isn't asked for what stays on this machine", async () => {
  await using script = await serveScript();
  let reached = 0;
  const proxy = createServer((socket) => {
    reached += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  process.env.http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  try {
    using client = new MemoryClient(script.target, { scope: SCOPE, token: "icm_x", deadlineMs: 30_000 });
    script.answers = [{ content: "tea" }];
    assert.equal((await client.read("MEMORY.md")).content, "tea");
    assert.equal(reached, 0);
  } finally {
    delete process.env.http_proxy;
    proxy.close();
  }
});
