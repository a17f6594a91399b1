/** The client. What isn't its surface is in the other modules. */

import type { ChannelOptions } from "@grpc/grpc-js";
import { type Call, Caller, changing, reading } from "./calls.js";
import { Connection, type Tls } from "./channel.js";
import { systemClock } from "./clock.js";
import { checkTarget, type Token } from "./credentials.js";
import * as admin from "./generated/ironclaw/memory/v1/admin_service.js";
import type { WatchEventsResponse } from "./generated/ironclaw/memory/v1/event_service.js";
import * as lifecycle from "./generated/ironclaw/memory/v1/lifecycle_service.js";
import * as memory from "./generated/ironclaw/memory/v1/memory_service.js";
import { type CallOptions, type Defaults, milliseconds } from "./options.js";
import type * as given from "./requests.js";
import { type RetryPolicy, retryPolicy } from "./retry.js";
import type { Scope, ScopeChanges } from "./scope.js";
import { structOf } from "./sendable.js";
import { InvokeResult, toolId } from "./tools.js";
import { Watch, type WatchOptions } from "./watch.js";

const { MemoryServiceService: Memory } = memory;
const { MemoryLifecycleServiceService: Lifecycle } = lifecycle;
const { MemoryAdminServiceService: Admin } = admin;

/** How a client is made. */
export interface ClientOptions {
  /** Whose memory, unless a call says otherwise. What the credential pins may be left out. */
  readonly scope?: Scope | undefined;
  /** An API key or a signed token, or what returns the one to send now. */
  readonly token?: Token | undefined;
  /** How to encrypt; `{}` trusts Node's authorities. Without it everything travels in the clear. */
  readonly tls?: Tls | undefined;
  /** Milliseconds for one call, its tries and the waits between them. Default 10,000. */
  readonly deadlineMs?: number | undefined;
  /** How often and how patiently calls are repeated. */
  readonly retry?: Partial<RetryPolicy> | undefined;
  /** gRPC channel arguments, over this client's own. */
  readonly channelOptions?: ChannelOptions | undefined;
}

/**
 * A connection to ironclaw-memory. It connects with the first call, and an idle one doesn't keep the process alive.
 *
 * Every method rejects with a `MemoryServiceError` when the call failed (`errors` has the tree of its subclasses), with
 * the signal's reason when that was aborted, and with a `TypeError` or `RangeError` when an argument can't be sent, such
 * as a text with a lone surrogate; then nothing was sent.
 */
export class MemoryClient {
  readonly #connection: Connection;
  readonly #caller: Caller;
  readonly #defaults: Defaults;

  /**
   * @param target where the service listens, such as `127.0.0.1:50051`, `dns:///memory:50051` or `unix:/run/memory.sock`.
   * @throws TypeError when the token would travel in the clear beyond this machine, or `tls` is half an identity.
   * @throws RangeError when `deadlineMs` or `retry` makes no sense.
   */
  constructor(target: string, options?: ClientOptions);
  /** @internal */
  constructor(shared: Connection, defaults: Defaults);
  constructor(target: string | Connection, options: ClientOptions | Defaults = {}) {
    if (typeof target === "string") {
      const asked = options as ClientOptions;
      checkTarget(target, asked.token, asked.tls !== undefined);
      this.#defaults = defaultsOf(asked);
      this.#connection = new Connection(target, asked.tls, asked.channelOptions);
    } else {
      this.#defaults = options as Defaults;
      this.#connection = target;
    }
    this.#caller = new Caller(this.#connection, systemClock);
  }

  /** Closes the connection, also for the clients that `withScope` made. Calls in flight are cancelled. */
  close(): void {
    this.#connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Whose memory, unless a call says otherwise. */
  get scope(): ScopeChanges {
    return this.#defaults.scope;
  }

  /** Returns a client for a scope that differs in `changes`. It shares the connection: closing one closes both. */
  withScope(changes: ScopeChanges): MemoryClient {
    return new MemoryClient(this.#connection, { ...this.#defaults, scope: { ...this.scope, ...changes } });
  }

  /**
   * Appends to, replaces or patches one document. It is on the disk when this resolves.
   *
   * Rejects with `ContentChangedError` when the precondition doesn't hold; then nothing was written.
   */
  async write(change: given.WriteOptions): Promise<memory.WriteResponse> {
    const { content = "", expectedSha256, mustNotExist = false } = change;
    if (mustNotExist && expectedSha256 !== undefined) {
      throw new TypeError("expectedSha256 and mustNotExist exclude each other");
    }
    const { target, append, oldString, newString, replaceAll, timezone } = change;
    const request = {
      ...{ target, content, append, oldString, newString, replaceAll, timezone, expectedSha256 },
      metadata: structOf(change.metadata),
      mustNotExist: mustNotExist || undefined, // a false would be a precondition of its own on the wire
    };
    const conditional = mustNotExist || expectedSha256 !== undefined;
    return this.#make(changing(Memory.write, request, { conditional }), change);
  }

  /** Returns one document whole. Rejects with `DocumentNotFoundError` when there is none under this path. */
  async read(path: string, options: CallOptions = {}): Promise<memory.ReadResponse> {
    return this.#make(reading(Memory.read, { path }), options);
  }

  /**
   * Returns the documents that match a question in plain words, best first.
   *
   * @param query any text, at most 4,096 bytes; nothing in it is syntax.
   */
  async search(query: string, options: given.SearchOptions = {}): Promise<memory.SearchResponse> {
    const { limit, pathPrefix = "", minScore } = options;
    return this.#make(reading(Memory.search, { query, limit, pathPrefix, minScore }), options);
  }

  /**
   * Lists what is in a folder; an unknown folder is empty.
   *
   * @param path the folder. Default: the scope's root.
   */
  async tree(path?: string, options: given.TreeOptions = {}): Promise<memory.TreeResponse> {
    return this.#make(reading(Memory.tree, { path, depth: options.depth }), options);
  }

  /** Sets facts about the human user; what is absent stays as it is. The profile is the user's, whatever the agent. */
  async profileSet(facts: given.ProfileSetOptions): Promise<memory.ProfileSetResponse> {
    const { timezone, locale, location } = facts;
    return this.#make(changing(Memory.profileSet, { timezone, locale, location }), facts);
  }

  /** Returns the five tools and the guidance text, ready for `toolsForOpenAI` and its siblings. */
  async listTools(options: CallOptions = {}): Promise<memory.ListToolsResponse> {
    return this.#make(reading(Memory.listTools, {}), options);
  }

  /**
   * Runs a model's tool call. What the model can be told about a failure comes back as `error`, and isn't thrown.
   *
   * Any tool is taken for one that changes: a read under a request id is only a read.
   *
   * @param name the tool's id, or its name in a model API (`ironclaw_memory_write`).
   * @param args the arguments as the model wrote them, or already parsed; empty counts as `{}`.
   */
  async invoke(name: string, args: string | object = "", options: CallOptions = {}): Promise<InvokeResult> {
    const argumentsJson = typeof args === "string" ? args : JSON.stringify(args);
    const request = { toolId: toolId(name), argumentsJson };
    return new InvokeResult(await this.#make(changing(Memory.invokeTool, request), options));
  }

  /**
   * Returns what memory adds to a prompt: both lanes, each passage in its envelope, as one block to paste.
   *
   * @param query any text, at most 4,096 bytes, such as the user's message.
   */
  async retrieveContext(query: string, options: given.ContextOptions = {}): Promise<lifecycle.RetrieveContextResponse> {
    return this.#make(reading(Lifecycle.retrieveContext, contextRequest(query, options)), options);
  }

  /** Returns MEMORY.md, whatever the query, and then passages of the scope's documents, as they are. */
  async readLongTerm(query: string, options: given.ContextOptions = {}): Promise<lifecycle.ReadLongTermResponse> {
    return this.#make(reading(Lifecycle.readLongTerm, contextRequest(query, options)), options);
  }

  /** Returns passages of what the scope's thread recorded, as they are; nothing without a thread. */
  async readShortTerm(query: string, options: given.ContextOptions = {}): Promise<lifecycle.ReadShortTermResponse> {
    return this.#make(reading(Lifecycle.readShortTerm, contextRequest(query, options)), options);
  }

  /**
   * Stores a turn's exchange in the scope's thread; without a thread nothing is stored.
   *
   * @param messages the exchange, in order.
   */
  async recordInteraction(
    messages: Iterable<given.Message>,
    options: given.RecordOptions,
  ): Promise<lifecycle.RecordInteractionResponse> {
    const { turnRunId, background = false } = options;
    const metadata = structOf(options.metadata);
    const request = { messages: Array.from(messages, messageOf), turnRunId, metadata, background };
    return this.#make(changing(Lifecycle.recordInteraction, request), options);
  }

  /** Returns the human's profile as it is stored, whatever the agent; no `document` when there is none. */
  async profileRead(options: CallOptions = {}): Promise<lifecycle.ProfileReadResponse> {
    return this.#make(reading(Lifecycle.profileRead, {}), options);
  }

  /**
   * Asks for the right to tidy MEMORY.md. At most one caller has it.
   *
   * The request id lets a second try find the lease that the first one got.
   */
  async claimCuration(options: given.ClaimOptions = {}): Promise<lifecycle.ClaimCurationResponse> {
    const { leaseSeconds, force = false } = options;
    return this.#make(changing(Lifecycle.claimCuration, { leaseSeconds, force }), options);
  }

  /**
   * Ends a claim: replaces MEMORY.md, unless somebody changed it since.
   *
   * It needs no request id: a second try is known by its lease and arguments. Rejects with `LeaseInvalidError` when the
   * lease is over or was never given in this scope, and with `UnsafeTextError` when the text may not enter a prompt; then
   * the lease holds for another try.
   *
   * @param leaseId from `claimCuration`.
   */
  async completeCuration(
    leaseId: string,
    options: given.CompleteOptions = {},
  ): Promise<lifecycle.CompleteCurationResponse> {
    const { content, abandon = false, report = {} } = options;
    const request = { leaseId, content, abandon, report: lifecycle.CurationReport.fromPartial(report) };
    return this.#make(reading(Lifecycle.completeCuration, request), options);
  }

  /**
   * Iterates over what is kept of a document's past, newest first, fetching page by page as it goes.
   *
   * @param path the document, which may be deleted by now.
   */
  async *listVersions(
    path: string,
    options: given.ListVersionsOptions = {},
  ): AsyncGenerator<admin.DocumentVersion, void, void> {
    let pageToken = "";
    do {
      const request = { path, pageSize: options.pageSize ?? 0, pageToken };
      const page = await this.#make(reading(Admin.listVersions, request), options);
      yield* page.versions;
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
  }

  /** Returns the content of one kept version. Rejects with `DocumentNotFoundError` when there is no such version. */
  async readVersion(path: string, version: number, options: CallOptions = {}): Promise<admin.ReadVersionResponse> {
    return this.#make(reading(Admin.readVersion, { path, version }), options);
  }

  /**
   * Makes a kept version the document's content again. What it replaces is kept; it works for a deleted document.
   *
   * @param version a number from `listVersions`.
   */
  async restoreVersion(
    path: string,
    version: number,
    options: given.RestoreOptions = {},
  ): Promise<admin.RestoreVersionResponse> {
    const { expectedSha256 } = options;
    const conditional = expectedSha256 !== undefined;
    return this.#make(changing(Admin.restoreVersion, { path, version, expectedSha256 }, { conditional }), options);
  }

  /** Removes a document from reads, search and tree; its last content is kept as a version. */
  async deleteDocument(path: string, options: given.DeleteOptions = {}): Promise<admin.DeleteDocumentResponse> {
    const { expectedSha256, purgeVersions = false } = options;
    const conditional = expectedSha256 !== undefined;
    const request = { path, expectedSha256, purgeVersions };
    return this.#make(changing(Admin.deleteDocument, request, { conditional }), options);
  }

  /** Returns how much the scope holds, its limits, and which documents can't be searched. */
  async getScopeStats(options: CallOptions = {}): Promise<admin.GetScopeStatsResponse> {
    return this.#make(reading(Admin.getScopeStats, {}), options);
  }

  /**
   * Iterates over what happens to the scope's memory, as it happens, until the loop is left or the signal is aborted.
   *
   * The first item has no event: from then on nothing is missed. A connection that breaks or a server that stops is
   * followed by another try with the last cursor, as often as `retry` says without anything having come. Without
   * `deadlineMs` it has no deadline.
   *
   * @throws TypeError when there is no such kind of event.
   */
  watchEvents(options: WatchOptions = {}): AsyncGenerator<WatchEventsResponse, void, void> {
    return new Watch(this.#connection, this.#defaults, options, systemClock).messages();
  }

  #make<Answer>(call: Call<Answer>, options: CallOptions): Promise<Answer> {
    return this.#caller.make(call, this.#defaults, options);
  }
}

function defaultsOf({ scope = {} as Scope, token, deadlineMs = 10_000, retry }: ClientOptions): Defaults {
  return { scope, token, deadlineMs: milliseconds(deadlineMs), retry: retryPolicy(retry) };
}

function contextRequest(query: string, { maxSnippets = 50, contextProfileId = "" }: given.ContextOptions) {
  return { query, maxSnippets, contextProfileId };
}

const ROLES: Readonly<Record<given.Message["role"], lifecycle.MessageRole>> = {
  user: lifecycle.MessageRole.USER,
  assistant: lifecycle.MessageRole.ASSISTANT,
  system: lifecycle.MessageRole.SYSTEM,
  tool: lifecycle.MessageRole.TOOL,
};

function messageOf({ role, content, name = "" }: given.Message): lifecycle.InteractionMessage {
  if (!Object.hasOwn(ROLES, role)) throw new TypeError(`'${role}' is no role: user, assistant, system or tool`);
  return { role: ROLES[role], content, name };
}
