/** The README is run as it stands: its examples against a real server, its tables against the code. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { BY_REASON } from "../src/failure.js";
import * as api from "../src/index.js";
import { PACKAGE, ServerProcess } from "./server.js";

const run = promisify(execFile);
const README = readFileSync(path.join(PACKAGE, "README.md"), "utf8");
const BLOCKS = [...README.matchAll(/```ts\n(.*?)```(?:\n\nprints\n\n```text\n(.*?)```)?/gs)];
// Below the package, so that the examples import it by its name, as it is built.
const FOLDER = path.join(PACKAGE, "build/readme");

const FILES = BLOCKS.map((_block, number) => path.join(FOLDER, `example-${number + 1}.ts`));

let server: ServerProcess;
let complaints: string;
before(async () => {
  server = await ServerProcess.start();
  mkdirSync(FOLDER, { recursive: true });
  for (const [number, [, code = ""]] of BLOCKS.entries()) {
    writeFileSync(FILES[number] ?? "", code.replaceAll("127.0.0.1:50051", server.address));
  }
  const flags = ["--ignoreConfig", "--module", "nodenext", "--target", "es2023", "--strict", "--types", "node"];
  const tsc = path.join(PACKAGE, "node_modules/.bin/tsc");
  ({ stdout: complaints } = await run(tsc, [...flags, ...FILES], { cwd: PACKAGE }).catch((error) => error));
});
after(() => server[Symbol.asyncDispose]());

test("every example is right by its types", () => assert.equal(complaints, ""));

for (const [number, [, , expected]] of BLOCKS.entries()) {
  if (expected === undefined) continue;
  test(`example ${number + 1} prints what the README says`, async () => {
    const { stdout } = await run(process.execPath, [FILES[number]?.replace(/ts$/, "js") ?? ""]);
    assert.equal(stdout, expected);
  });
}

test("no example is left out", () => {
  assert.equal(BLOCKS.length, 4);
  assert.equal(BLOCKS.filter(([, , expected]) => expected !== undefined).length, 3); // the fourth needs certificates
});

test("the example's turn ends with what it remembers", async () => {
  const { stdout } = await run(process.execPath, [path.join(PACKAGE, "build/examples/agent-loop.js"), server.address]);
  const lines = stdout.trimEnd().split("\n");
  assert.equal(lines[0], "user I can't eat peanuts.");
  assert.equal(lines[1], "assistant ironclaw_memory_write, ironclaw_memory_search, ironclaw_memory_read");
  const [wrote, found, refused] = lines.slice(2, 5).map((line) => JSON.parse(line.replace(/^tool /, "")));
  assert.equal(wrote.path, "MEMORY.md");
  assert.equal(found.results[0].path, "MEMORY.md");
  assert.equal(refused.error.reason, "INVALID_PATH");
  assert.equal(lines[5], "assistant Noted: no peanuts.");
  assert.match(lines[6] ?? "", /^recorded as threads\/chat-1\/run-\d+\.md$/);
  assert.deepEqual(lines.slice(7), ["the next turn begins with the allergy in mind"]);
});

test("each reason stands in the row of the class that it is thrown as", () => {
  const rows = [...README.matchAll(/^\| `(\w+Error)`[^|]*\| ([^|]+) \|$/gm)];
  const table = rows.flatMap(([, name, reasons = ""]) => [...reasons.matchAll(/`(\w+)`/g)].map(([, r]) => [r, name]));
  const code = Object.entries(BY_REASON).map(([reason, { name }]) => [reason, name]);
  assert.deepEqual(Object.fromEntries(table), Object.fromEntries(code));
  for (const [, name = ""] of rows) assert.ok(name in api, name);
});

test("every method and every option of a call is in the README", () => {
  const rows = [...README.matchAll(/^\| `.*$/gm)].join("\n");
  const methods = Object.getOwnPropertyNames(api.MemoryClient.prototype);
  const others = methods.filter((name) => !rows.includes(`\`${name}\``));
  assert.deepEqual(others.sort(), ["close", "constructor", "withScope"]);
  for (const name of ["`close`", "client.withScope("]) assert.ok(README.includes(name), name);
  const options = readFileSync(path.join(PACKAGE, "src/options.ts"), "utf8");
  const declared = /interface CallOptions \{(.*?)^\}/ms.exec(options)?.[1] ?? "";
  const names = [...declared.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name);
  assert.equal(names.length, 5);
  for (const name of names) assert.ok(rows.includes(`| \`${name}\` |`), name);
});
