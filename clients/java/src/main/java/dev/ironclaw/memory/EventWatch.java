package dev.ironclaw.memory;

import dev.ironclaw.memory.v1.MemoryEventServiceGrpc;
import dev.ironclaw.memory.v1.WatchEventsRequest;
import dev.ironclaw.memory.v1.WatchEventsResponse;
import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What happens to memory, as it happens, for one thread that takes it and any thread that ends it.
 *
 * <p>The first message has no event: from then on nothing is missed. A watch outlives connections
 * and servers: after a break the next try sends the cursor of the last message, so that nothing is
 * missed and nothing comes twice. Tries are counted anew with each message: what is bounded is how
 * long a service may be away, not how often.
 */
public final class EventWatch implements Iterator<WatchEventsResponse>, AutoCloseable {
  private final Connection connection;
  private final Settings settings;
  private final long expiresAt;
  private final Context.CancellableContext context = Context.current().withCancellation();
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile WatchEventsRequest request;
  private Iterator<WatchEventsResponse> stream;
  private Tries tries;

  EventWatch(Connection connection, Settings settings, WatchEventsRequest request) {
    this.connection = connection;
    this.settings = settings;
    this.request = request;
    this.expiresAt = settings.watchExpiresAt(connection.now());
    this.tries = freshTries();
  }

  /**
   * Waits for the next message, also over breaks of the connection.
   *
   * @return whether there is one; false once the watch was closed
   * @throws dev.ironclaw.memory.errors.MemoryServiceException the watch failed, and is over
   */
  @Override
  public boolean hasNext() {
    while (!isOver()) {
      try {
        return arrives();
      } catch (StatusRuntimeException failure) {
        waitAfter(failure);
      }
    }
    return false;
  }

  /**
   * Returns the next message, and takes its cursor for the next try.
   *
   * @return an event with the cursor after it, or a cursor alone
   * @throws dev.ironclaw.memory.errors.MemoryServiceException the watch failed, and is over
   * @throws NoSuchElementException the watch was closed
   */
  @Override
  public WatchEventsResponse next() {
    if (!hasNext()) {
      throw new NoSuchElementException("the watch is over");
    }
    WatchEventsResponse message = stream.next();
    request = request.toBuilder().setCursor(message.getCursor()).build();
    tries = freshTries();
    return message;
  }

  /**
   * Returns where a later watch goes on after the last message that {@link #next()} returned.
   *
   * @return the cursor; the one that the watch began with, possibly empty, before the first message
   */
  public String cursor() {
    return request.getCursor();
  }

  /** Ends the watch, from any thread; a waiting {@link #hasNext()} returns false. */
  @Override
  public void close() {
    ended.countDown();
    context.cancel(null);
  }

  private boolean arrives() {
    if (stream == null) {
      context.run(() -> stream = open());
    }
    boolean arrives = stream.hasNext();
    if (!arrives) {
      close();
    }
    return arrives;
  }

  private Iterator<WatchEventsResponse> open() {
    CallOptions options = CallOptions.DEFAULT;
    if (settings.watchDeadline() != null) {
      long left = tries.nanosLeft(connection.now());
      options = options.withDeadlineAfter(left, TimeUnit.NANOSECONDS);
    }
    return ClientCalls.blockingServerStreamingCall(
        connection.with(settings.watchMetadata()),
        MemoryEventServiceGrpc.getWatchEventsMethod(),
        options,
        request);
  }

  private void waitAfter(StatusRuntimeException failure) {
    stream = null;
    if (isOver()) {
      return;
    }
    try {
      connection.awaitNextTry(tries, FailureReader.exceptionOf(failure), ended);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private boolean isOver() {
    return ended.getCount() == 0;
  }

  private Tries freshTries() {
    return new Tries(settings.retry(), expiresAt, false);
  }
}
