/** A service whose answers a test writes down beforehand: for failures that a healthy server can't be made to show. */

import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import type { StatusCode } from "../src/errors.js";
import { BadRequest, ErrorInfo, RetryInfo } from "../src/generated/google/rpc/error_details.js";
import { Status } from "../src/generated/google/rpc/status.js";
import { MemoryAdminServiceService } from "../src/generated/ironclaw/memory/v1/admin_service.js";
import { MemoryEventServiceService } from "../src/generated/ironclaw/memory/v1/event_service.js";
import { MemoryLifecycleServiceService } from "../src/generated/ironclaw/memory/v1/lifecycle_service.js";
import { MemoryServiceService } from "../src/generated/ironclaw/memory/v1/memory_service.js";

const SERVICES = [
  MemoryServiceService,
  MemoryLifecycleServiceService,
  MemoryAdminServiceService,
  MemoryEventServiceService,
] as unknown as ServiceDefinition[];

/** An answer that never comes: the server waits until the caller gives up. */
export const SILENCE = Symbol("silence");

/** What a failure carries; without a reason it is as anything else on the way would send it. */
export interface Said {
  reason?: string;
  message?: string;
  retryAfterMs?: number;
  metadata?: Record<string, string>;
  fields?: Record<string, string>;
  domain?: string;
  details?: Buffer;
}

/** A failure as the service sends it. */
export class Refusal {
  readonly code: StatusCode;
  readonly said: Said;

  constructor(code: StatusCode, said: Said = {}) {
    this.code = code;
    this.said = said;
  }

  /** Returns what a handler's callback takes. */
  status(): { code: number; details: string; metadata: Metadata } {
    const metadata = new Metadata();
    const code = status[this.code];
    const message = this.said.message ?? "No.";
    const bytes = this.said.details ?? Buffer.from(Status.encode({ code, message, details: this.#details() }).finish());
    metadata.set("grpc-status-details-bin", bytes);
    return { code, details: message, metadata };
  }

  #details() {
    const { reason, retryAfterMs, fields, domain = "memory.ironclaw" } = this.said;
    const details = [];
    if (reason !== undefined) {
      const info = { reason, domain, metadata: { kind: "input", ...this.said.metadata } };
      details.push(packed("google.rpc.ErrorInfo", ErrorInfo.encode(ErrorInfo.fromPartial(info)).finish()));
    }
    if (fields) {
      const fieldViolations = Object.entries(fields).map(([field, description]) => ({ field, description }));
      const bad = BadRequest.fromPartial({ fieldViolations });
      details.push(packed("google.rpc.BadRequest", BadRequest.encode(bad).finish()));
    }
    if (retryAfterMs !== undefined) {
      const nanos = Math.round((retryAfterMs % 1_000) * 1e6);
      const retry = RetryInfo.fromPartial({ retryDelay: { seconds: Math.floor(retryAfterMs / 1_000), nanos } });
      details.push(packed("google.rpc.RetryInfo", RetryInfo.encode(retry).finish()));
    }
    return details;
  }
}

function packed(type: string, value: Uint8Array) {
  return { typeUrl: `type.googleapis.com/${type}`, value };
}

/** One try as the server got it. */
export interface Seen {
  method: string;
  // biome-ignore lint/suspicious/noExplicitAny: whichever message the method takes
  request: any;
  metadata: Record<string, unknown>;
  secondsLeft: number;
}

/** What the server answers, one entry a try, and what it saw. An array is a stream's messages, the last may refuse. */
export class Script {
  readonly target: string;
  readonly seen: Seen[] = [];
  answers: unknown[] = [];
  readonly #server: Server;
  #onTry: (() => void)[] = [];

  constructor(target: string, server: Server) {
    this.target = target;
    this.#server = server;
  }

  /** Resolves when the next try has come in. */
  nextTry(): Promise<void> {
    return new Promise((resolve) => this.#onTry.push(resolve));
  }

  /** Notes a try and returns its answer. */
  take(method: string, call: ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>): unknown {
    const left = call.getDeadline();
    const secondsLeft = (Number(left instanceof Date ? left.getTime() : left) - Date.now()) / 1_000;
    this.seen.push({ method, request: call.request, metadata: { ...call.metadata.getMap() }, secondsLeft });
    for (const told of this.#onTry.splice(0)) told();
    if (this.answers.length === 0) return new Refusal("FAILED_PRECONDITION", { message: "The script is over." });
    return this.answers.shift();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    return Promise.resolve();
  }
}

/** Serves a script on a free port of loopback, until it is disposed of. */
export async function serveScript(credentials = ServerCredentials.createInsecure(), at = "127.0.0.1:0") {
  const server = new Server();
  const told: { script?: Script } = {};
  for (const service of SERVICES) {
    const handlers = Object.entries(service).map(([name, { responseStream, responseDeserialize }]) => [
      name,
      responseStream ? streamHandler(name, told) : unaryHandler(name, told, responseDeserialize(Buffer.alloc(0))),
    ]);
    server.addService(service, Object.fromEntries(handlers));
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(at, credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  told.script = new Script(at.startsWith("unix:") ? at : `127.0.0.1:${port}`, server);
  return told.script;
}

function unaryHandler(name: string, told: { script?: Script }, empty: object) {
  return (call: ServerUnaryCall<unknown, unknown>, callback: sendUnaryData<unknown>): void => {
    const answer = told.script?.take(name, call);
    if (answer === SILENCE) return;
    if (answer instanceof Refusal) callback(answer.status());
    else callback(null, { ...empty, ...(answer as object) });
  };
}

function streamHandler(name: string, told: { script?: Script }) {
  return (call: ServerWritableStream<unknown, unknown>): void => {
    const answers = told.script?.take(name, call);
    for (const answer of Array.isArray(answers) ? answers : [answers]) {
      if (answer === SILENCE) return;
      if (answer instanceof Refusal) {
        call.emit("error", answer.status());
        return;
      }
      call.write(answer);
    }
    call.end();
  };
}
