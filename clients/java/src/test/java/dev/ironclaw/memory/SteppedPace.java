package dev.ironclaw.memory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A clock that moves only when somebody waits, and then at once. */
final class SteppedPace implements Pace {
  final List<Duration> pauses = new ArrayList<>();
  private long now = 42;

  @Override
  public long nanoTime() {
    return now;
  }

  @Override
  public void pause(Duration delay, CountDownLatch end) {
    pauses.add(delay);
    now += delay.toNanos();
  }

  Duration waited() {
    return pauses.stream().reduce(Duration.ZERO, Duration::plus);
  }
}
