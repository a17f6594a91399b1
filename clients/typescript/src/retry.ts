/**
 * When a failed call is tried again, and after how long. Pure: the clock's time is handed in, and nobody waits here.
 *
 * gRPC's own retry (a `retryPolicy` in the service config) goes by status code and method alone, so it can't leave
 * `OUTCOME_UNKNOWN` alone, repeat `CAS_EXHAUSTED` but not `CONTENT_CHANGED`, tell a conditional write from a plain one,
 * or read the server's `RetryInfo`. It is turned off in `channel`, so that there is one layer of tries.
 *
 * What may be repeated:
 *
 * 1. `UNAVAILABLE`, on reads and on changes. Repeating a change is safe because every change carries a request id, the
 *    same on all tries, under which the service makes it once and answers later tries with the first result.
 * 2. Not `OUTCOME_UNKNOWN`, although it is `UNAVAILABLE`. The request id would make a repetition harmless, but the answer
 *    "done" to it couldn't make durable what the disk refused to, and would hide from the caller that it may be lost.
 * 3. `CAS_EXHAUSTED`, when the change has no precondition: nothing was written, and the same change still makes sense.
 *    With a precondition the caller has to read again; `CONTENT_CHANGED` is never repeated.
 * 4. `RATE_LIMITED`: nothing was started, and the server says how long to wait.
 * 5. Nothing else. In particular not `DEADLINE_EXCEEDED`: the time that the caller gave is over.
 */

import { type MemoryServiceError, OutcomeUnknownError, RateLimitedError } from "./errors.js";

/** How often and how patiently calls are repeated. All of it happens within the call's deadline. */
export interface RetryPolicy {
  /** Tries in all, the first included; 1 turns repeating off. Default 4. */
  readonly maxTries: number;
  /** Milliseconds before the second try when the server names no delay; doubles with each try. Default 200. */
  readonly firstDelayMs: number;
  /** The longest such delay in milliseconds. A delay that the server names is honoured even when longer. Default 5,000. */
  readonly maxDelayMs: number;
}

/** What holds unless a client is told otherwise. */
export const DEFAULT_RETRY: RetryPolicy = { maxTries: 4, firstDelayMs: 200, maxDelayMs: 5_000 };

/**
 * Returns the whole policy for what a caller gave of one.
 *
 * @throws RangeError when the policy could never make a call, or would wait backwards.
 */
export function retryPolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const policy = { ...DEFAULT_RETRY, ...given };
  if (!(policy.maxTries >= 1)) throw new RangeError("maxTries must be at least 1");
  if (!(policy.firstDelayMs >= 0 && policy.maxDelayMs >= 0)) {
    throw new RangeError("firstDelayMs and maxDelayMs must not be negative");
  }
  return policy;
}

/** What it means to repeat a call. */
export interface Repetition {
  /** True for a call that changes documents. */
  readonly changes: boolean;
  /** True for a change with a precondition. */
  readonly conditional: boolean;
}

/** The tries of one call. */
export class Tries {
  readonly #policy: RetryPolicy;
  readonly #expiresAt: number;
  readonly #repetition: Repetition;
  #failed = 0;

  /** @param expiresAt when the caller's time is over, in milliseconds on the monotonic clock; Infinity for never. */
  constructor(policy: RetryPolicy, expiresAt: number, repetition: Repetition) {
    this.#policy = policy;
    this.#expiresAt = expiresAt;
    this.#repetition = repetition;
  }

  /**
   * Counts a failed try and returns the milliseconds to wait before the next; undefined when there shall be none.
   *
   * A wait that would outlast the caller's time is not begun: the caller gets the error while it can still act.
   */
  delayAfter(error: MemoryServiceError, now: number): number | undefined {
    this.#failed += 1;
    if (this.#failed >= this.#policy.maxTries || !this.#mayRepeat(error)) return undefined;
    const delay = this.#delay(error.retryAfterMs);
    return now + delay < this.#expiresAt ? delay : undefined;
  }

  #mayRepeat(error: MemoryServiceError): boolean {
    if (error.code === "UNAVAILABLE") return !(error instanceof OutcomeUnknownError);
    if (error instanceof RateLimitedError) return true;
    return error.reason === "CAS_EXHAUSTED" && this.#repetition.changes && !this.#repetition.conditional;
  }

  /** Returns a spread delay, so that callers who were refused together don't come back together. */
  #delay(askedFor: number | undefined): number {
    if (askedFor !== undefined) return askedFor * between(1, 1.2); // never sooner than the server asked
    const ceiling = Math.min(this.#policy.maxDelayMs, this.#policy.firstDelayMs * 2 ** (this.#failed - 1));
    return ceiling * between(0.5, 1);
  }
}

function between(low: number, high: number): number {
  return low + Math.random() * (high - low);
}
