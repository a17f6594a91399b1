/** Time as the calls see it: what it is now, and how to wait. */

import { setTimeout as timer } from "node:timers/promises";

/** A source of time. */
export interface Clock {
  /** Returns the milliseconds of a clock that never goes back. */
  now(): number;
  /** Resolves after so many milliseconds; rejects with the signal's reason when that is aborted first. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

const LONGEST_TIMER = 2 ** 31 - 1; // a longer one would fire at once

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    try {
      await timer(Math.min(milliseconds, LONGEST_TIMER), undefined, signal && { signal });
    } catch (interrupted) {
      signal?.throwIfAborted();
      throw interrupted;
    }
  },
};
