/** The real server as a child process: started on a fresh data folder, read until it is ready, ended by SIGTERM. */

import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

/** The folder of this package. */
export const PACKAGE = path.resolve(import.meta.dirname, "../..");
/** The folder of the repository. */
export const REPOSITORY = path.resolve(PACKAGE, "../..");

const EXECUTABLE = process.env.IRONCLAW_MEMORY_SERVER ?? path.join(REPOSITORY, ".venv/bin/ironclaw-memory");
const READY = /ironclaw-memory is ready on (\S+)/;

/** A temporary folder, removed when it is disposed of. */
export class Folder {
  readonly path: string;

  constructor(folder: string) {
    this.path = folder;
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(path.join(tmpdir(), "ironclaw-memory-ts-")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** Runs the server's command line to its end and returns what it printed. */
export async function command(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(EXECUTABLE, args, { env: environment() });
  return stdout;
}

/** A running server. */
export class ServerProcess {
  readonly address: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown[]>;
  readonly #folder: Folder;
  readonly #log: string[];

  private constructor(child: ChildProcess, ended: Promise<unknown[]>, address: string, folder: Folder, log: string[]) {
    this.#process = child;
    this.#ended = ended;
    this.address = address;
    this.#folder = folder;
    this.#log = log;
  }

  /**
   * Starts a server and resolves once it is ready.
   *
   * @param flags further flags, which win over those that choose the address.
   * @param folder its data lie in `data` below it; a temporary one when absent.
   */
  static async start(flags: readonly string[] = [], folder?: Folder): Promise<ServerProcess> {
    const home = folder ?? (await Folder.make());
    const data = path.join(home.path, "data");
    const args = ["serve", "--data-dir", data, ...(flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"])];
    const child = spawn(EXECUTABLE, [...args, ...flags], { env: environment(), stdio: ["ignore", "pipe", "pipe"] });
    const ended = once(child, "exit");
    const kill = (): boolean => child.kill("SIGKILL"); // should a test end without its cleaning up
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    const log: string[] = [];
    const ready = new Promise<string>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on("line", (line) => {
          log.push(line);
          const found = READY.exec(line);
          if (found?.[1]) resolve(found[1]);
        });
      }
    });
    const early = ended.then(() => assert.fail(`the server didn't start:\n${log.join("\n")}`));
    return new ServerProcess(child, ended, await Promise.race([ready, early]), home, log);
  }

  /** Ends the server as an orchestrator does, and holds it to exit code 0. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGTERM");
    const [code] = await this.#ended;
    await this.#folder[Symbol.asyncDispose]();
    assert.equal(code, 0, this.#log.join("\n"));
  }
}

/** Returns this process's environment without any setting of the product. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("IRONCLAW_MEMORY_")));
}
