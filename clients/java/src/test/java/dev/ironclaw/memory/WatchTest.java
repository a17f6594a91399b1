package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ironclaw.memory.errors.CallCancelledException;
import dev.ironclaw.memory.errors.DeadlineExceededException;
import dev.ironclaw.memory.errors.InvalidArgumentsException;
import dev.ironclaw.memory.errors.ShuttingDownException;
import dev.ironclaw.memory.v1.EventKind;
import dev.ironclaw.memory.v1.ListVersionsRequest;
import dev.ironclaw.memory.v1.ListVersionsResponse;
import dev.ironclaw.memory.v1.WatchEventsRequest;
import dev.ironclaw.memory.v1.WatchEventsResponse;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What comes in parts: a watch that goes on after breaks, and versions page by page. */
class WatchTest {
  private static final Refusal STOPS = Refusal.of(Code.UNAVAILABLE, "SHUTTING_DOWN");

  private final SteppedPace pace = new SteppedPace();
  private final ScriptedService service = new ScriptedService();
  private final MemoryClient client = service.client(pace);

  @AfterEach
  void close() {
    client.close();
    service.close();
  }

  private static WatchEventsResponse at(String cursor) {
    return WatchEventsResponse.newBuilder().setCursor(cursor).build();
  }

  private List<String> cursorsSent() {
    return service.seen.stream()
        .map(seen -> ((WatchEventsRequest) seen.request()).getCursor())
        .toList();
  }

  @Test
  void aBreakIsFollowedByATryWithTheLastCursor() {
    service.answer(
        List.of(at("1"), at("2"), STOPS), STOPS, List.of(at("3"), ScriptedService.SILENCE));
    try (EventWatch watch = client.watchEvents(o -> o.addKinds(EventKind.EVENT_KIND_WRITTEN))) {
      var got =
          List.of(watch.next().getCursor(), watch.next().getCursor(), watch.next().getCursor());
      assertEquals(List.of("1", "2", "3"), got);
      assertEquals("3", watch.cursor());
    }
    assertEquals(List.of("", "2", "2"), cursorsSent());
    for (var seen : service.seen) {
      var request = (WatchEventsRequest) seen.request();
      assertEquals(List.of(EventKind.EVENT_KIND_WRITTEN), request.getKindsList());
      assertEquals("ann", seen.header("x-ironclaw-user-id"));
      assertEquals(-1, seen.secondsLeft());
    }
    assertEquals(2, pace.pauses.size());
  }

  @Test
  void triesAreCountedAnewWithEachMessage() {
    for (int round = 0; round < 3; round++) {
      service.answer(STOPS, STOPS, List.of(at("n" + round), STOPS));
    }
    service.answer(STOPS, STOPS, STOPS);
    try (EventWatch watch = client.watchEvents(options -> {})) {
      for (int round = 0; round < 3; round++) {
        assertEquals("n" + round, watch.next().getCursor());
      }
      assertThrows(ShuttingDownException.class, watch::next);
      assertFalse(watch.hasNext());
      assertThrows(NoSuchElementException.class, watch::next);
    }
    assertEquals(12, service.seen.size());
  }

  @Test
  void whatARepetitionCannotMendEndsTheWatch() {
    service.answer(Refusal.of(Code.INVALID_ARGUMENT, "INVALID_ARGUMENTS"));
    try (EventWatch watch = client.watchEvents(options -> options.setCursor("made-up"))) {
      assertThrows(InvalidArgumentsException.class, watch::hasNext);
      assertFalse(watch.hasNext());
    }
    assertEquals(List.of("made-up"), cursorsSent());
  }

  @Test
  void closingEndsAWaitThatIsUnderWay() {
    service.answer(List.of(at("1"), ScriptedService.SILENCE));
    EventWatch watch = client.watchEvents(options -> {});
    assertTrue(watch.hasNext());
    watch.next();
    var waiting = CompletableFuture.supplyAsync(watch::hasNext);
    watch.close();
    assertFalse(waiting.join());
    assertEquals("1", watch.cursor());
  }

  @Test
  void closingTheClientEndsAWaitForTheNextTry() {
    var ended = new AtomicBoolean();
    var other = new AtomicReference<MemoryClient>();
    Pace closing =
        new Pace() {
          @Override
          public long nanoTime() {
            return 0;
          }

          @Override
          public void pause(Duration delay, CountDownLatch end) throws InterruptedException {
            other.get().close();
            ended.set(end.await(60, TimeUnit.SECONDS));
          }
        };
    other.set(service.client(closing));
    service.answer(STOPS);
    EventWatch watch = other.get().watchEvents(options -> {});
    assertThrows(CallCancelledException.class, watch::hasNext);
    assertTrue(ended.get());
    assertFalse(watch.hasNext());
  }

  @Test
  void aWatchHasTheDeadlineThatItWasGiven() {
    service.answer(List.of(at("1"), ScriptedService.SILENCE));
    var hasty = client.withDeadline(Duration.ofSeconds(2));
    try (EventWatch watch = hasty.watchEvents(options -> {})) {
      watch.next();
      assertThrows(DeadlineExceededException.class, watch::next);
    }
    assertTrue(service.seen.get(0).secondsLeft() <= 2);
  }

  @Test
  void versionsAreFetchedPageByPageAsTheyAreTaken() {
    service.answer(page("t1", 3, 2), page("t2"), page("", 1));
    List<Long> taken = new ArrayList<>();
    var versions = client.listVersions("a.md", 2).iterator();
    assertEquals(0, service.seen.size());
    taken.add(versions.next().getVersion());
    taken.add(versions.next().getVersion());
    assertEquals(1, service.seen.size());
    versions.forEachRemaining(version -> taken.add(version.getVersion()));
    assertEquals(List.of(3L, 2L, 1L), taken);
    var tokens =
        service.seen.stream().map(s -> ((ListVersionsRequest) s.request()).getPageToken()).toList();
    assertEquals(List.of("", "t1", "t2"), tokens);
  }

  private static ListVersionsResponse page(String next, long... versions) {
    var page = ListVersionsResponse.newBuilder().setNextPageToken(next);
    for (long version : versions) {
      page.addVersionsBuilder().setVersion(version);
    }
    return page.build();
  }
}
