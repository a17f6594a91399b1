/** Who may connect to the real service, and how: keys, TLS, mutual TLS, Unix sockets. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  MemoryClient,
  PermissionForbiddenError,
  ScopeForbiddenError,
  type Tls,
  UnauthenticatedError,
  UnreachableError,
} from "../src/index.js";
import { Authority, pem } from "./certificates.js";
import { command, Folder, ServerProcess } from "./server.js";

const SCOPE = { tenant: "acme", user: "ann" };
const NAME = "memory.example";

let folder: Folder;
let authority: Authority;
before(async () => {
  folder = await Folder.make();
  authority = await Authority.make(folder.path);
});
after(() => folder[Symbol.asyncDispose]());

/** Returns the flags that serve TLS as memory.example. */
async function tlsFlags(): Promise<string[]> {
  const { certificate, key } = await authority.issue(`DNS:${NAME}`);
  return ["--tls-certificate", certificate, "--tls-key", key];
}

async function trusting(more: Tls = {}): Promise<Tls> {
  return { rootCertificates: await pem(authority.certificate), serverName: NAME, ...more };
}

function connect(address: string, options: { tls?: Tls; token?: string; scope?: typeof SCOPE }): MemoryClient {
  return new MemoryClient(address, { retry: { maxTries: 1 }, deadlineMs: 60_000, ...options });
}

test("an API key opens what its grant says, and fills in the scope that it pins", async () => {
  const home = await Folder.make();
  const data = path.join(home.path, "data");
  const create = ["keys", "create", "--data-dir", data, "--tenant", "acme", "--user", "ann", "--name", "test"];
  const token = /icm_\S+/.exec(await command(...create, "--agent", "_none", "--project", "_none"))?.[0];
  assert.ok(token);
  await using server = await ServerProcess.start([], home);
  using client = connect(server.address, { token });
  await client.write({ content: "User drinks tea.", target: "memory" });
  assert.equal((await client.read("MEMORY.md")).content, "User drinks tea.\n");
  const elsewhere = { scope: { tenant: "other", user: "ann" } };
  await assert.rejects(client.read("MEMORY.md", elsewhere), ScopeForbiddenError);
  await assert.rejects(client.getScopeStats(), (thrown) => {
    assert.ok(thrown instanceof PermissionForbiddenError);
    assert.equal(thrown.permission, "admin");
    return true;
  });
  for (const [wrong, reason] of [
    [undefined, "CREDENTIALS_MISSING"],
    [`${token.slice(0, -1)}_`, "CREDENTIALS_INVALID"],
  ] as const) {
    using stranger = connect(server.address, { scope: SCOPE, ...(wrong ? { token: wrong } : {}) });
    await assert.rejects(stranger.read("MEMORY.md"), (thrown) => {
      assert.ok(thrown instanceof UnauthenticatedError);
      assert.equal(thrown.reason, reason);
      return true;
    });
  }
});

test("TLS proves the server: by its own authority and its name, and not otherwise", async () => {
  await using server = await ServerProcess.start(await tlsFlags());
  using client = connect(server.address, { scope: SCOPE, tls: await trusting() });
  await client.write({ content: "User drinks tea.", target: "memory" });
  const stranger = await Authority.make(folder.path, "stranger");
  const wrong: [string, Tls | undefined][] = [
    ["another authority", await trusting({ rootCertificates: await pem(stranger.certificate) })],
    ["Node's authorities", { serverName: NAME }],
    ["another name", await trusting({ serverName: "other.example" })],
    ["the target's own name", await trusting({ serverName: undefined })],
    ["no TLS", undefined],
  ];
  for (const [name, tls] of wrong) {
    using other = connect(server.address, { scope: SCOPE, ...(tls ? { tls } : {}) });
    await assert.rejects(other.read("MEMORY.md"), UnreachableError, name);
  }
});

test("mutual TLS proves the client, as text or as bytes, and its certificate is the credential", async () => {
  const grants = path.join(folder.path, "grants.toml");
  await writeFile(
    grants,
    '["agent-host.example"]\ntenant = "acme"\nusers = ["ann"]\npermissions = ["read", "write"]\n',
  );
  const flags = [...(await tlsFlags()), "--tls-client-ca", authority.certificate, "--mtls-grants", grants];
  await using server = await ServerProcess.start(flags);
  const { certificate, key } = await authority.issue("DNS:agent-host.example");
  const identity = { privateKey: await pem(key), certificateChain: Buffer.from(await pem(certificate)) };
  using client = connect(server.address, { tls: await trusting(identity), scope: SCOPE });
  await client.write({ content: "User drinks tea.", target: "memory" });
  assert.equal((await client.read("MEMORY.md")).content, "User drinks tea.\n");
  using nameless = connect(server.address, { tls: await trusting(), scope: SCOPE });
  await assert.rejects(nameless.read("MEMORY.md"), UnreachableError);
});

test("half a client identity is refused when the client is made", () => {
  for (const tls of [{ privateKey: "key" }, { certificateChain: "chain" }]) {
    assert.throws(() => new MemoryClient("127.0.0.1:1", { tls }), /both/);
  }
});

test("a Unix socket serves as well", async () => {
  const target = `unix:${path.join(folder.path, "memory.sock")}`;
  await using _server = await ServerProcess.start(["--listen", target]);
  using client = connect(target, { scope: SCOPE });
  await client.write({ content: "User drinks tea.", target: "memory" });
  assert.equal((await client.search("tea")).results[0]?.path, "MEMORY.md");
});
