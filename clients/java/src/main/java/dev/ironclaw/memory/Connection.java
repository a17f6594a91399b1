package dev.ironclaw.memory;

import dev.ironclaw.memory.errors.CallCancelledException;
import dev.ironclaw.memory.errors.ErrorDetails;
import dev.ironclaw.memory.errors.MemoryServiceException;
import dev.ironclaw.memory.errors.UnreachableException;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** The channel that a client and those derived from it share, and the waiting between tries. */
final class Connection {
  private final ManagedChannel channel;
  private final Pace pace;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Set<CountDownLatch> waits = ConcurrentHashMap.newKeySet();

  Connection(ManagedChannel channel, Pace pace) {
    this.channel = channel;
    this.pace = pace;
  }

  /** Returns the channel with metadata for every call. */
  Channel with(Metadata metadata) {
    return ClientInterceptors.intercept(
        channel, MetadataUtils.newAttachHeadersInterceptor(metadata));
  }

  long now() {
    return pace.nanoTime();
  }

  /**
   * Returns when calls can be made.
   *
   * @throws IllegalStateException the client was closed
   */
  void requireOpen() {
    if (isClosed()) {
      throw new IllegalStateException("the client is closed");
    }
  }

  void close() {
    closed.countDown();
    waits.forEach(CountDownLatch::countDown);
    channel.shutdownNow();
  }

  /** Waits until the next try may begin. */
  void awaitNextTry(Tries tries, MemoryServiceException error) {
    awaitNextTry(tries, error, closed);
  }

  /**
   * Waits until the next try may begin, or until {@code end}, which closing the client reaches too.
   *
   * @throws MemoryServiceException there shall be no other try
   */
  void awaitNextTry(Tries tries, MemoryServiceException error, CountDownLatch end) {
    throwIfClosed(error);
    Duration delay = tries.delayAfter(error, now()).orElseThrow(() -> error);
    waits.add(end);
    try {
      throwIfClosed(error);
      pause(delay, error, end);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw cancelled("the thread was interrupted between two tries", error);
    } finally {
      waits.remove(end);
    }
    throwIfClosed(error);
  }

  private void throwIfClosed(MemoryServiceException last) {
    if (isClosed()) {
      throw cancelled("the client was closed", last);
    }
  }

  /**
   * A channel that failed to connect refuses calls until its own back-off is over, a second at
   * first. Told to connect half-way, it knows by the end of the wait whether the server is back.
   */
  private void pause(Duration delay, MemoryServiceException error, CountDownLatch end)
      throws InterruptedException {
    if (!(error instanceof UnreachableException)) {
      pace.pause(delay, end);
      return;
    }
    Duration half = delay.dividedBy(2);
    pace.pause(half, end);
    channel.resetConnectBackoff();
    pace.pause(delay.minus(half), end);
  }

  private boolean isClosed() {
    return closed.getCount() == 0;
  }

  private static CallCancelledException cancelled(String message, MemoryServiceException last) {
    var exception = new CallCancelledException(ErrorDetails.of(Status.Code.CANCELLED, message));
    exception.initCause(last);
    return exception;
  }
}
