/** A call as a value, and how it is made: as often as the rules in `retry` allow. */

import type { Connection, Method } from "./channel.js";
import type { Clock } from "./clock.js";
import { errorOf, isCallFailure } from "./failure.js";
import { begin, type CallOptions, type Defaults } from "./options.js";
import type { Repetition } from "./retry.js";
import { requireSendable } from "./sendable.js";

/** One unary call, ready to be made. */
export interface Call<Answer> extends Repetition {
  readonly method: Method<never, Answer>;
  readonly request: Buffer;
}

/** What is made known of a call that changes documents. */
export interface Change {
  /** True when it has a precondition. */
  readonly conditional?: boolean;
}

/**
 * Describes a call that only reads.
 *
 * @throws TypeError when an argument can't be sent.
 */
export function reading<Request, Answer>(method: Method<Request, Answer>, request: Request): Call<Answer> {
  return { method, request: encoded(method, request), changes: false, conditional: false };
}

/**
 * Describes a call that changes something, and so gets a request id.
 *
 * @throws TypeError when an argument can't be sent.
 */
export function changing<Request, Answer>(
  method: Method<Request, Answer>,
  request: Request,
  { conditional = false }: Change = {},
): Call<Answer> {
  return { method, request: encoded(method, request), changes: true, conditional };
}

/** Returns a request's bytes, the same for all tries. */
export function encoded<Request>(method: Method<Request, unknown>, request: Request): Buffer {
  requireSendable(request, "the request");
  try {
    return method.requestSerialize(request);
  } catch (cause) {
    throw new TypeError(`an argument can't be sent: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

/** Makes calls over one connection. */
export class Caller {
  readonly #connection: Pick<Connection, "unary">;
  readonly #clock: Clock;

  constructor(connection: Pick<Connection, "unary">, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /**
   * Makes a call and resolves with its answer.
   *
   * Rejects with a MemoryServiceError, with the signal's reason, or with a TypeError or RangeError for options that can't
   * be sent.
   */
  async make<Answer>(call: Call<Answer>, defaults: Defaults, options: CallOptions): Promise<Answer> {
    const { signal } = options;
    signal?.throwIfAborted();
    const { metadata, tries, expiresAt } = await begin(call, defaults, options, this.#clock);
    for (;;) {
      signal?.throwIfAborted();
      const timeoutMs = Math.max(0, expiresAt - this.#clock.now());
      try {
        return await this.#connection.unary(call.method, call.request, { metadata, timeoutMs, signal });
      } catch (failure) {
        signal?.throwIfAborted();
        if (!isCallFailure(failure)) throw failure;
        const error = errorOf(failure);
        const delay = tries.delayAfter(error, this.#clock.now());
        if (delay === undefined) throw error;
        await this.#clock.sleep(delay, signal);
      }
    }
  }
}
