package dev.ironclaw.memory;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The clock and the waiting, apart from the rules so that tests can have their own. */
interface Pace {
  /** The machine's. */
  Pace REAL =
      new Pace() {
        @Override
        public long nanoTime() {
          return System.nanoTime();
        }

        @Override
        public void pause(Duration delay, CountDownLatch end) throws InterruptedException {
          // A delay beyond what a long of nanoseconds holds is cut to that: 292 years.
          end.await(TimeUnit.NANOSECONDS.convert(delay), TimeUnit.NANOSECONDS);
        }
      };

  /** Returns the time as {@link System#nanoTime()} does. */
  long nanoTime();

  /** Waits, but no longer than until {@code end} is reached. */
  void pause(Duration delay, CountDownLatch end) throws InterruptedException;
}
