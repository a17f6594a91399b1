/**
 * A watch that outlives connections and servers. When one ends, the next try sends the cursor of the last message, so
 * nothing is missed and nothing comes twice. The tries are counted anew with each message: what is bounded is how long a
 * service may be away, not how often.
 */

import { encoded } from "./calls.js";
import type { Connection } from "./channel.js";
import type { Clock } from "./clock.js";
import { addCredential } from "./credentials.js";
import { errorOf, isCallFailure } from "./failure.js";
import {
  EventKind,
  MemoryEventServiceService as Events,
  type WatchEventsRequest,
  type WatchEventsResponse,
} from "./generated/ironclaw/memory/v1/event_service.js";
import { type CallOptions, type Defaults, milliseconds, tokenOf } from "./options.js";
import { Tries } from "./retry.js";
import { callMetadata } from "./scope.js";

const READS = { changes: false, conditional: false };

/** What to watch, and how. Without `deadlineMs` a watch has no deadline. */
export interface WatchOptions extends Omit<CallOptions, "requestId"> {
  /** Of the last item that was handled, to go on after it; absent for from now on. */
  readonly cursor?: string | undefined;
  /** Watch all scopes of the tenant; needs the permission `events`. */
  readonly wholeTenant?: boolean | undefined;
  /** Which kinds of event, such as `EventKind.WRITTEN`; none for all. */
  readonly kinds?: readonly EventKind[] | undefined;
}

/** One watch and its place. */
export class Watch {
  readonly #connection: Pick<Connection, "stream">;
  readonly #defaults: Defaults;
  readonly #options: WatchOptions;
  readonly #clock: Clock;
  readonly #request: WatchEventsRequest;
  readonly #expiresAt: number;
  #tries: Tries;

  /** @throws TypeError when there is no such kind of event. */
  constructor(connection: Pick<Connection, "stream">, defaults: Defaults, options: WatchOptions, clock: Clock) {
    this.#connection = connection;
    this.#defaults = defaults;
    this.#options = options;
    this.#clock = clock;
    const { cursor = "", wholeTenant = false, kinds = [] } = options;
    this.#request = { cursor, wholeTenant, kinds: kinds.map(knownKind) };
    this.#expiresAt = clock.now() + milliseconds(options.deadlineMs ?? Number.POSITIVE_INFINITY);
    this.#tries = this.#freshTries();
  }

  /** Iterates over the messages, of one try after another. */
  async *messages(): AsyncGenerator<WatchEventsResponse, void, void> {
    for (;;) {
      try {
        for await (const message of await this.#open()) {
          this.#request.cursor = message.cursor;
          this.#tries = this.#freshTries();
          yield message;
        }
        return;
      } catch (failure) {
        await this.#waitAfter(failure);
      }
    }
  }

  /** Opens the stream of the next try; a token that is called for is asked anew. */
  async #open(): Promise<AsyncIterable<WatchEventsResponse>> {
    const { signal, correlationId, scope = this.#defaults.scope } = this.#options;
    signal?.throwIfAborted();
    const metadata = callMetadata(scope, { correlationId });
    const token = await tokenOf(this.#defaults.token, this.#expiresAt, signal, this.#clock);
    if (token !== undefined) addCredential(metadata, token);
    const timeoutMs = Math.max(0, this.#expiresAt - this.#clock.now());
    const request = encoded(Events.watchEvents, this.#request);
    return this.#connection.stream(Events.watchEvents, request, { metadata, timeoutMs, signal });
  }

  /** Waits before the next try; throws the error when there shall be none. */
  async #waitAfter(failure: unknown): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (!isCallFailure(failure)) throw failure;
    const error = errorOf(failure);
    const delay = this.#tries.delayAfter(error, this.#clock.now());
    if (delay === undefined) throw error;
    await this.#clock.sleep(delay, this.#options.signal);
  }

  #freshTries(): Tries {
    return new Tries(this.#defaults.retry, this.#expiresAt, READS);
  }
}

function knownKind(kind: EventKind): EventKind {
  const known = Object.values(EventKind).includes(kind);
  if (!known || kind === EventKind.UNSPECIFIED || kind === EventKind.UNRECOGNIZED) {
    throw new TypeError(`'${kind}' is no kind of event`);
  }
  return kind;
}
