/** Every scenario of the vectors against the real service, through this client, one test a scenario. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  createFileRegistry,
  type DescMethod,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Caller, reading } from "../src/calls.js";
import { Connection, type Method } from "../src/channel.js";
import { systemClock } from "../src/clock.js";
import { MemoryAdminServiceService } from "../src/generated/ironclaw/memory/v1/admin_service.js";
import { MemoryEventServiceService } from "../src/generated/ironclaw/memory/v1/event_service.js";
import { MemoryLifecycleServiceService } from "../src/generated/ironclaw/memory/v1/lifecycle_service.js";
import { MemoryServiceService } from "../src/generated/ironclaw/memory/v1/memory_service.js";
import { MemoryClient, type ScopeChanges } from "../src/index.js";
import { DEFAULT_RETRY } from "../src/retry.js";
import { type Host, loadScenarios, runScenario } from "./conformance/runner.js";
import { PACKAGE, REPOSITORY, ServerProcess } from "./server.js";

const VECTORS = path.join(REPOSITORY, "tests/conformance/vectors");
const SCENARIOS = loadScenarios(VECTORS);
const SUITES = [
  ...["history", "lifecycle", "patch", "paths", "profile", "safety", "scope", "search", "tools", "tree", "write"],
];

const DESCRIPTORS = fromBinary(FileDescriptorSetSchema, readFileSync(path.join(PACKAGE, "build/descriptors.binpb")));
const REGISTRY = createFileRegistry(DESCRIPTORS);

/** A generated method, whichever messages it takes. */
interface AnyMethod extends Method<object, object> {
  readonly requestDeserialize: (bytes: Buffer) => object;
  readonly responseSerialize: (answer: object) => Buffer;
}

const SERVICES = {
  ...MemoryServiceService,
  ...MemoryLifecycleServiceService,
  ...MemoryAdminServiceService,
  ...MemoryEventServiceService,
} as unknown as Record<string, AnyMethod>;
const METHODS = new Map(Object.values(SERVICES).map((method) => [method.path, method]));

/**
 * Calls through this client: tools by `invoke`, other methods by the generated codecs and the client's own calls.
 *
 * Protobuf JSON is read and printed by an implementation that isn't the client's, so that both of its codecs are held to
 * what the protos say.
 */
class ClientHost implements Host {
  readonly #client: MemoryClient;
  readonly #connection: Connection;

  constructor(client: MemoryClient, connection: Connection) {
    this.#client = client;
    this.#connection = connection;
  }

  within(scope: ScopeChanges): Host {
    const nobody = { tenant: undefined, user: undefined, agent: undefined, project: undefined, thread: undefined };
    return new ClientHost(this.#client.withScope({ ...nobody, ...scope }), this.#connection);
  }

  async invoke(tool: string, argumentsJson: string) {
    const result = await this.#client.invoke(tool, argumentsJson);
    return result.error ? { error: result.error } : { output: JSON.parse(result.outputJson) };
  }

  async call(rpc: string, request: unknown): Promise<Record<string, unknown>> {
    const method = METHODS.get(`/${rpc}`);
    const described = describedMethod(rpc);
    assert.ok(method && described, rpc);
    const bytes = toBinary(described.input, fromJson(described.input, request as JsonValue, { registry: REGISTRY }));
    const call = reading(method, method.requestDeserialize(Buffer.from(bytes)));
    const defaults = { scope: this.#client.scope, deadlineMs: 60_000, retry: DEFAULT_RETRY, token: undefined };
    const answer = await new Caller(this.#connection, systemClock).make(call, defaults, {});
    const message = fromBinary(described.output, method.responseSerialize(answer));
    const options = { useProtoFieldName: true, alwaysEmitImplicit: true, registry: REGISTRY };
    return toJson(described.output, message, options) as Record<string, unknown>;
  }
}

function describedMethod(rpc: string): DescMethod | undefined {
  const [service = "", name] = rpc.split("/");
  return REGISTRY.getService(service)?.methods.find((method) => method.name === name);
}

let server: ServerProcess;
let client: MemoryClient;
let connection: Connection;
before(async () => {
  server = await ServerProcess.start();
  client = new MemoryClient(server.address, { deadlineMs: 60_000 });
  connection = new Connection(server.address, undefined);
});
after(async () => {
  client.close();
  connection.close();
  await server[Symbol.asyncDispose]();
});

let ran = 0;
for (const [index, scenario] of SCENARIOS.entries()) {
  test(`${scenario.suite}/${scenario.name}`, async () => {
    await runScenario(scenario, new ClientHost(client, connection), `conformance-${index}`);
    ran += 1;
  });
}

test("every scenario of every suite ran, and none hides another of the same name", () => {
  const names = new Set(SCENARIOS.map(({ suite, name }) => `${suite}/${name}`));
  const inFiles = SUITES.map((suite) => JSON.parse(readFileSync(path.join(VECTORS, `${suite}.json`), "utf8")));
  const count = inFiles.reduce((sum, { scenarios }) => sum + scenarios.length, 0);
  assert.deepEqual([...new Set(SCENARIOS.map(({ suite }) => suite))].sort(), SUITES);
  assert.equal(names.size, count);
  assert.equal(ran, count);
});
