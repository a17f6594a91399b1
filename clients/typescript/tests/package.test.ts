/** The package as a user gets it: packed, installed in a project of its own, imported, required and type-checked. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { Folder, PACKAGE, REPOSITORY } from "./server.js";

const run = promisify(execFile);

let folder: Folder;
let project: string;
let packed: { files: { path: string }[] };
before(async () => {
  folder = await Folder.make();
  project = path.join(folder.path, "project");
  await mkdir(project);
  // Without its prepack script: it would build anew under the other tests' feet what the tests' own run built.
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder.path];
  packed = firstOf(JSON.parse((await run("npm", pack, { cwd: PACKAGE })).stdout));
  const [tarball = ""] = readdirSync(folder.path).filter((name) => name.endsWith(".tgz"));
  await writeFile(path.join(project, "package.json"), '{"type": "module", "private": true}');
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--no-package-lock"];
  await run("npm", [...install, path.join(folder.path, tarball)], { cwd: project });
});
after(() => folder[Symbol.asyncDispose]());

/** npm lists the packages that it packed as an array or, in later versions, by their names. */
function firstOf<Value>(listed: Value[] | Record<string, Value>): Value {
  return Object.values(listed)[0] as Value;
}

async function node(file: string, code: string): Promise<string> {
  await writeFile(path.join(project, file), code);
  return (await run(process.execPath, [file], { cwd: project })).stdout;
}

test("it holds what is built, the licence and the README, and nothing else", () => {
  const files = packed.files.map((file) => file.path);
  const others = files.filter((file) => !/^dist\/.*\.(js|d\.ts)$/.test(file));
  assert.deepEqual(others.sort(), ["LICENSE", "README.md", "package.json"]);
  const sources = readdirSync(path.join(PACKAGE, "src"), { recursive: true, withFileTypes: true });
  const modules = sources.filter((entry) => entry.name.endsWith(".ts"));
  assert.equal(files.length - others.length, modules.length * 2);
});

test("it is imported, and required as the same module", async () => {
  const names = "m.MemoryClient.name, m.WriteStatus.PATCHED, typeof m.toolsForMcp";
  const imported = `import * as m from "ironclaw-memory-client"; console.log(${names});`;
  const required = `const m = require("ironclaw-memory-client"); console.log(${names});
    import("ironclaw-memory-client").then((again) => console.log(again.MemoryClient === m.MemoryClient));`;
  assert.equal(await node("a.mjs", imported), "MemoryClient WRITE_STATUS_PATCHED function\n");
  assert.equal(await node("b.cjs", required), "MemoryClient WRITE_STATUS_PATCHED function\ntrue\n");
});

test("its types resolve, tell what is wrong, and are complete without skipping a check of them", async () => {
  const uses = `
    import { EventKind, type MemoryClient, type Reason, toolsForOpenAI, type WriteResponse } from "ironclaw-memory-client";
    export async function use(client: MemoryClient): Promise<string> {
      const written: WriteResponse = await client.write({ target: "memory", content: "x" });
      const count: number = written.contentLength;
      const when: Date | undefined = (await client.read(written.path)).updatedAt;
      const reason: Reason = "CONTENT_CHANGED";
      for await (const { event } of client.watchEvents({ kinds: [EventKind.WRITTEN] })) if (event) break;
      const { tools } = await client.listTools({ signal: AbortSignal.timeout(1) });
      return toolsForOpenAI(tools, { api: "responses" })[0]?.name ?? \`\${count} \${when} \${reason}\`;
    }
    // @ts-expect-error there is no such option
    export const wrong = (client: MemoryClient) => client.write({ contents: "x" });
    // @ts-expect-error there is no such status
    export const never = (written: WriteResponse) => written.status === "WRITE_STATUS_LOST";
    // @ts-expect-error internals stay inside
    export const inside = (client: MemoryClient, other: MemoryClient) => new (client.constructor as typeof MemoryClient)(other);
  `;
  await writeFile(path.join(project, "uses.ts"), uses);
  const roots = ["--typeRoots", path.join(PACKAGE, "node_modules/@types"), "--types", "node"];
  const flags = [
    "--module",
    "nodenext",
    "--target",
    "es2023",
    "--lib",
    "es2023,esnext.disposable",
    "--strict",
    "--noEmit",
  ];
  const tsc = path.join(PACKAGE, "node_modules/.bin/tsc");
  const checked = await run(tsc, [...flags, ...roots, "uses.ts"], { cwd: project }).catch((error) => error);
  assert.equal(checked.stdout, "");
});

test("its licence is the repository's", () => {
  const read = (folder: string) => readFileSync(path.join(folder, "LICENSE"), "utf8");
  assert.equal(read(PACKAGE), read(REPOSITORY));
});

test("the lock file names no registry", () => {
  assert.doesNotMatch(readFileSync(path.join(PACKAGE, "package-lock.json"), "utf8"), /"resolved"/);
});
