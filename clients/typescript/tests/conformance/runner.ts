/** Runs the scenarios of the vectors, as the vectors' README says. How a call is made is the host's. */

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { MemoryServiceError, type ScopeChanges } from "../../src/index.js";
import { Mismatch, match } from "./matching.js";

const TREE = "ironclaw.memory.tree";
const STEP_KEYS = [
  "tool",
  "arguments",
  "output",
  "error",
  "rpc",
  "request",
  "response",
  "status",
  "reason",
  "as",
  "save",
];

/** One step of a scenario, as the file has it. */
export interface Step {
  tool?: string;
  arguments?: unknown;
  output?: unknown;
  error?: unknown;
  rpc?: string;
  request?: unknown;
  response?: unknown;
  status?: string;
  reason?: string;
  as?: Record<string, string | null>;
  save?: Record<string, string>;
}

/** A scenario as the file has it, with the name of its suite. */
export interface Scenario {
  suite: string;
  name: string;
  steps: Step[];
  thread?: string;
}

/** A tool's in-band error. */
export interface ToolRefusal {
  kind: string;
  reason: string;
}

/** How calls are made in one scope. */
export interface Host {
  /** Returns a host for this scope, whatever the one before was. */
  within(scope: ScopeChanges): Host;
  /** Calls a tool; its parsed output, or its error. */
  invoke(tool: string, argumentsJson: string): Promise<{ output: unknown } | { error: ToolRefusal }>;
  /** Calls a method by its full name with protobuf JSON; rejects with MemoryServiceError. */
  call(rpc: string, request: unknown): Promise<Record<string, unknown>>;
}

/** Returns the scenarios of every suite in the folder, in the order of the files' names. */
export function loadScenarios(folder: string): Scenario[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.sort().flatMap((name) => {
    const { suite, scenarios } = JSON.parse(readFileSync(path.join(folder, name), "utf8"));
    return scenarios.map((scenario: Omit<Scenario, "suite">) => ({ ...scenario, suite }));
  });
}

/** Returns the date in a zone now, as the daily log is named. */
export function today(zone: string): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(new Date());
}

/**
 * Runs a scenario in a tenant that nobody else uses.
 *
 * A mismatch while the date changes in a zone that the scenario speaks of proves nothing: it is run once more.
 *
 * @throws Mismatch when an answer isn't what the vectors expect; the message names the step.
 */
export async function runScenario(scenario: Scenario, host: Host, tenant: string, dateIn = today): Promise<void> {
  const text = JSON.stringify(scenario.steps);
  const zones = [...text.matchAll(/\$\{today:([^}]+)\}/g)].map(([, zone]) => zone as string);
  const dates = zones.map(dateIn);
  try {
    await run(scenario, host, tenant, dateIn);
  } catch (error) {
    if (!(error instanceof Mismatch) || isDeepStrictEqual(zones.map(dateIn), dates)) throw error;
    await run(scenario, host, `${tenant}-next-day`, dateIn);
  }
}

async function run(scenario: Scenario, host: Host, tenant: string, dateIn: typeof today): Promise<void> {
  const values = new Values(dateIn);
  for (const [index, step] of scenario.steps.entries()) {
    const scoped = host.within(scopeOf(step, tenant, scenario.thread));
    try {
      checkKeys(step);
      await (step.tool === undefined ? runRpcStep(step, scoped, values) : runToolStep(step, step.tool, scoped, values));
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      throw new Mismatch(`step ${index + 1} (${step.tool ?? step.rpc}): ${error.message}`);
    }
  }
}

/** A misspelt key would make a step that checks nothing. */
function checkKeys(step: Step): void {
  const unknown = Object.keys(step).filter((key) => !STEP_KEYS.includes(key));
  if (unknown.length > 0) throw new Mismatch(`the step has keys that nobody knows: ${unknown}`);
}

function scopeOf(step: Step, tenant: string, thread: string | undefined): ScopeChanges {
  const scope: Record<string, string | null | undefined> = { tenant, user: "alice", thread, ...step.as };
  if (step.as?.tenant) scope.tenant = `${tenant}-${step.as.tenant}`;
  return Object.fromEntries(Object.entries(scope).map(([axis, value]) => [axis, value ?? undefined]));
}

async function runToolStep(step: Step, tool: string, host: Host, values: Values): Promise<void> {
  const answer = await host.invoke(tool, JSON.stringify(values.resolve(step.arguments))).catch((error) => {
    if (!(error instanceof MemoryServiceError)) throw error;
    throw new Mismatch(`the call itself failed: ${error.message}`);
  });
  if ("error" in answer) {
    match(step.error ?? "no error", { kind: answer.error.kind, reason: answer.error.reason }, "error");
    return;
  }
  if (step.error !== undefined) throw new Mismatch(`expected an error, got ${JSON.stringify(answer.output)}`);
  if (step.output === undefined) return;
  const expected = values.resolve(step.output);
  if (tool === TREE && !isDeepStrictEqual(expected, answer.output)) {
    throw new Mismatch(`expected exactly ${JSON.stringify(expected)}, got ${JSON.stringify(answer.output)}`);
  }
  match(expected, answer.output, "output");
}

async function runRpcStep(step: Step, host: Host, values: Values): Promise<void> {
  const request = values.resolve(step.request);
  let response: Record<string, unknown>;
  try {
    response = await host.call(step.rpc as string, request);
  } catch (error) {
    if (!(error instanceof MemoryServiceError)) throw error;
    match(
      { status: step.status ?? "OK", reason: step.reason ?? "" },
      { status: error.code, reason: error.reason },
      "status",
    );
    return;
  }
  if (step.status !== undefined) throw new Mismatch(`expected ${step.status}, got ${JSON.stringify(response)}`);
  match(values.resolve(step.response ?? {}), response, "response", true);
  for (const [name, key] of Object.entries(step.save ?? {})) {
    if (!Object.hasOwn(response, key)) throw new Mismatch(`the response has no '${key}' to save`);
    values.saved.set(name, String(response[key]));
  }
}

/** What placeholders stand for while a scenario runs. */
export class Values {
  readonly saved = new Map<string, string>();
  readonly #dateIn: typeof today;

  constructor(dateIn = today) {
    this.#dateIn = dateIn;
  }

  /**
   * Returns `value` with placeholders and long texts written out.
   *
   * @throws Mismatch when a placeholder names nothing that was saved.
   */
  resolve(value: unknown): unknown {
    if (typeof value === "string") return value.replace(/\$\{([^}]+)\}/g, (_all, name) => this.#standsFor(name));
    if (Array.isArray(value)) return value.map((element) => this.resolve(element));
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    const [[key, inner] = []] = entries.length === 1 ? entries : [];
    if (key === "$repeat") return String(this.resolve(inner[0])).repeat(inner[1]);
    if (key === "$join") return (this.resolve(inner) as string[]).join("");
    return Object.fromEntries(entries.map(([name, part]) => [name, this.resolve(part)]));
  }

  #standsFor(name: string): string {
    if (name.startsWith("today:")) return this.#dateIn(name.slice("today:".length));
    const value = this.saved.get(name);
    if (value === undefined) throw new Mismatch(`no earlier step saved '${name}'`);
    return value;
  }
}
