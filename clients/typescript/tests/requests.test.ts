/** What a method's arguments become on the wire: nothing is made up, and nothing is sent that would arrive changed. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryClient } from "../src/index.js";
import { type Script, serveScript } from "./scripted.js";

function connect(script: Script): MemoryClient {
  return new MemoryClient(script.target, { scope: { tenant: "acme", user: "ann" } });
}

/** Returns what of the last request differs from an empty message. */
function sent(script: Script): object {
  const { request } = script.seen.at(-1) ?? {};
  const empty = (value: unknown): boolean =>
    value === undefined || value === "" || value === 0 || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(request).filter(([, value]) => !empty(value)));
}

type Case = [string, (client: MemoryClient) => Promise<unknown>, object];

const CASES: Case[] = [
  ["an empty write", (client) => client.write({}), {}],
  [
    "false and empty where they say something",
    (client) => client.write({ content: "", target: "a", append: false, replaceAll: false }),
    { target: "a", append: false, replaceAll: false },
  ],
  [
    "a patch",
    (client) => client.write({ target: "memory", oldString: "a", newString: "b", replaceAll: true }),
    { target: "memory", oldString: "a", newString: "b", replaceAll: true },
  ],
  [
    "metadata as JSON has it",
    (client) =>
      client.write({ metadata: { read_only: true, n: 1.5, none: null, gone: undefined, list: [{ a: "é" }] } }),
    { metadata: { read_only: true, n: 1.5, none: null, list: [{ a: "é" }] } },
  ],
  ["mustNotExist", (client) => client.write({ mustNotExist: true }), { mustNotExist: true }],
  ["no precondition for false", (client) => client.write({ mustNotExist: false }), {}],
  ["expectedSha256", (client) => client.write({ expectedSha256: "ab" }), { expectedSha256: "ab" }],
  ["a search with nothing but a query", (client) => client.search("tea"), { query: "tea" }],
  [
    "a search with all",
    (client) => client.search("tea", { limit: -1, pathPrefix: "daily/", minScore: 0.5 }),
    { query: "tea", limit: -1, pathPrefix: "daily/", minScore: 0.5 },
  ],
  ["a tree", (client) => client.tree("notes", { depth: 3 }), { path: "notes", depth: 3 }],
  ["a tree of the root", (client) => client.tree(), {}],
  ["a profile", (client) => client.profileSet({ locale: "zh-CN" }), { locale: "zh-CN" }],
  ["arguments as text", (client) => client.invoke("x", "{ }"), { toolId: "x", argumentsJson: "{ }" }],
  ["arguments as an object", (client) => client.invoke("x", { a: [1] }), { toolId: "x", argumentsJson: '{"a":[1]}' }],
  [
    "a context",
    (client) => client.retrieveContext("tea", { contextProfileId: "p" }),
    { query: "tea", maxSnippets: 50, contextProfileId: "p" },
  ],
  [
    "an interaction",
    (client) =>
      client.recordInteraction([{ role: "tool", content: "{}", name: "t" }], { turnRunId: "r", background: true }),
    {
      messages: [{ role: "MESSAGE_ROLE_TOOL", content: "{}", name: "t" }],
      turnRunId: "r",
      background: true,
    },
  ],
  [
    "a completion",
    (client) => client.completeCuration("l", { content: "", report: { kept: 2 } }),
    { leaseId: "l", abandon: false, report: { kept: 2, merged: 0, rewritten: 0, superseded: 0, conflicts: [] } },
  ],
];

for (const [name, call, expected] of CASES) {
  test(`${name} arrives as it was given`, async () => {
    await using script = await serveScript();
    using client = connect(script);
    script.answers = [{}];
    await call(client);
    const told = sent(script);
    for (const key of ["abandon", "background"] as const) if (!(key in expected)) delete (told as never)[key];
    assert.deepEqual(told, expected);
  });
}

test("an empty text that is present differs from an absent one", async () => {
  await using script = await serveScript();
  using client = connect(script);
  script.answers = [{}, {}, {}, {}];
  await client.completeCuration("l", { content: "" });
  await client.completeCuration("l");
  await client.tree("");
  await client.tree();
  assert.deepEqual(
    script.seen.map(({ request }) => request.content ?? request.path),
    ["", undefined, "", undefined],
  );
});

const CYCLE: { self?: object } = {};
CYCLE.self = CYCLE;

const REFUSED: [string, (client: MemoryClient) => Promise<unknown>][] = [
  ["both preconditions", (client) => client.write({ expectedSha256: "a", mustNotExist: true })],
  ["half a character in the content", (client) => client.write({ content: "a\ud83d" })],
  ["half a character deep in the metadata", (client) => client.write({ metadata: { a: [{ b: "\udc00" }] } })],
  ["half a character in a key", (client) => client.write({ metadata: { "\udc00": 1 } })],
  ["a number that is none", (client) => client.write({ metadata: { a: Number.NaN } })],
  ["a bigint in the metadata", (client) => client.write({ metadata: { a: 1n as never } })],
  ["metadata that hold themselves", (client) => client.write({ metadata: CYCLE as never })],
  ["half a depth", (client) => client.tree("", { depth: 1.5 })],
  ["a limit beyond 32 bits", (client) => client.search("a", { limit: 2 ** 31 })],
  ["an infinite score", (client) => client.search("a", { minScore: Number.POSITIVE_INFINITY })],
  ["a negative version", (client) => client.readVersion("a", -1)],
  ["half a version", (client) => client.readVersion("a", 1.5)],
  [
    "a role that is none",
    (client) => client.recordInteraction([{ role: "toString" as never, content: "" }], { turnRunId: "r" }),
  ],
  [
    "a role that models have not",
    (client) => client.recordInteraction([{ role: "robot" as never, content: "" }], { turnRunId: "r" }),
  ],
];

for (const [name, call] of REFUSED) {
  test(`${name} is refused before anything is sent`, async () => {
    await using script = await serveScript();
    using client = connect(script);
    script.answers = [{}];
    await assert.rejects(call(client), TypeError);
    assert.deepEqual(script.seen, []);
  });
}

test("versions are listed page by page, as far as the loop goes", async () => {
  await using script = await serveScript();
  using client = connect(script);
  const page = (from: number, nextPageToken: string) => ({
    versions: [from, from - 1].map((version) => ({ version, contentSha256: "", sizeBytes: 0, keptAt: new Date(0) })),
    nextPageToken,
  });
  script.answers = [page(6, "p2"), page(4, "p3"), page(2, "")];
  const listed = [];
  for await (const { version } of client.listVersions("a", { pageSize: 2 })) listed.push(version);
  assert.deepEqual(listed, [6, 5, 4, 3, 2, 1]);
  assert.deepEqual(
    script.seen.map(({ request }) => request.pageToken),
    ["", "p2", "p3"],
  );
  script.answers = [page(6, "p2"), page(4, "p3")];
  for await (const { version } of client.listVersions("a")) if (version === 4) break;
  assert.equal(script.seen.length, 5);
});
