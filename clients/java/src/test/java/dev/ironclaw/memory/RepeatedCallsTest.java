package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Message;
import dev.ironclaw.memory.errors.CallCancelledException;
import dev.ironclaw.memory.errors.ConflictException;
import dev.ironclaw.memory.errors.ContentChangedException;
import dev.ironclaw.memory.errors.DeadlineExceededException;
import dev.ironclaw.memory.errors.MemoryServiceException;
import dev.ironclaw.memory.errors.OutcomeUnknownException;
import dev.ironclaw.memory.errors.OverloadedException;
import dev.ironclaw.memory.errors.ShuttingDownException;
import dev.ironclaw.memory.v1.ClaimCurationResponse;
import dev.ironclaw.memory.v1.DeleteDocumentResponse;
import dev.ironclaw.memory.v1.InvokeToolResponse;
import dev.ironclaw.memory.v1.ProfileSetResponse;
import dev.ironclaw.memory.v1.ReadResponse;
import dev.ironclaw.memory.v1.RecordInteractionResponse;
import dev.ironclaw.memory.v1.RestoreVersionResponse;
import dev.ironclaw.memory.v1.WriteResponse;
import io.grpc.Status.Code;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The client against a service that fails by script, with a clock that moves when it waits. */
class RepeatedCallsTest {
  private static final Refusal BUSY = Refusal.of(Code.UNAVAILABLE, "OVERLOADED");
  private static final Refusal LOST_RACE = Refusal.of(Code.ABORTED, "CAS_EXHAUSTED");
  private static final ReadResponse TEA = ReadResponse.newBuilder().setContent("tea").build();
  private static final WriteResponse WRITTEN = WriteResponse.getDefaultInstance();
  private static final String REQUEST_ID = "x-ironclaw-request-id";

  private final SteppedPace pace = new SteppedPace();
  private final ScriptedService service = new ScriptedService();
  private final MemoryClient client = service.client(pace);

  @AfterEach
  void close() {
    client.close();
    service.close();
  }

  @Test
  void aReadIsRepeatedUntilItSucceeds() {
    service.answer(BUSY, BUSY, TEA);
    assertEquals("tea", client.read("MEMORY.md").getContent());
    assertEquals(List.of("Read", "Read", "Read"), methods());
    assertNull(service.seen.get(0).header(REQUEST_ID));
  }

  @Test
  void allTriesOfAWriteCarryOneRequestId() {
    var replayed = WriteResponse.newBuilder().setReplayed(true).build();
    service.answer(BUSY, Refusal.of(Code.UNAVAILABLE, ""), replayed);
    assertTrue(client.write("memory", "tea").getReplayed());
    assertEquals(3, service.seen.size());
    var ids = new HashSet<>(requestIds());
    assertEquals(1, ids.size());
    assertEquals(36, ids.iterator().next().length());
    var requests = service.seen.stream().map(ScriptedService.Seen::request).distinct();
    assertEquals(1, requests.count());
  }

  @Test
  void twoWritesHaveTwoRequestIds() {
    service.answer(WRITTEN, WRITTEN);
    client.write("memory", "tea");
    client.write("memory", "tea");
    assertEquals(2, new HashSet<>(requestIds()).size());
  }

  @TestFactory
  Stream<DynamicTest> everyOtherChangeCarriesOneRequestIdToo() {
    Map<Message, Consumer<MemoryClient>> changes =
        Map.of(
            ProfileSetResponse.getDefaultInstance(),
            c -> c.profileSet(facts -> facts.setTimezone("UTC")),
            InvokeToolResponse.getDefaultInstance(),
            c -> c.invoke("ironclaw.memory.write", "{}"),
            RestoreVersionResponse.getDefaultInstance(),
            c -> c.restoreVersion("MEMORY.md", 1),
            DeleteDocumentResponse.getDefaultInstance(),
            c -> c.deleteDocument("MEMORY.md"),
            RecordInteractionResponse.getDefaultInstance(),
            c -> c.recordInteraction("run", List.of(Messages.user("hi"))),
            ClaimCurationResponse.getDefaultInstance(),
            c -> c.claimCuration(options -> {}));
    return changes.entrySet().stream()
        .map(
            change ->
                DynamicTest.dynamicTest(
                    change.getKey().getDescriptorForType().getName(),
                    () -> carriesOneRequestId(change.getKey(), change.getValue())));
  }

  private void carriesOneRequestId(Message answer, Consumer<MemoryClient> change) {
    service.seen.clear();
    service.answer(BUSY, answer);
    change.accept(client);
    assertEquals(2, service.seen.size());
    assertEquals(36, requestIds().get(0).length());
    assertEquals(requestIds().get(0), requestIds().get(1));
  }

  @Test
  void theCallersRequestIdIsUsedOnAllTries() {
    service.answer(BUSY, WRITTEN);
    client.withRequestId("order-7").write("memory", "tea");
    assertEquals(List.of("order-7", "order-7"), requestIds());
  }

  @Test
  void triesAreLimitedAndTheLastErrorIsThrown() {
    service.answer(BUSY, BUSY, BUSY, Refusal.of(Code.UNAVAILABLE, "SHUTTING_DOWN"), TEA);
    assertThrows(ShuttingDownException.class, () -> client.read("MEMORY.md"));
    assertEquals(4, service.seen.size());
    assertEquals(3, pace.pauses.size());
  }

  @Test
  void repeatingCanBeTurnedOff() {
    var builder = MemoryClient.builder("x", Scope.of("acme", "ann"));
    try (MemoryClient once = service.client(builder.retryPolicy(RetryPolicy.NONE), pace)) {
      service.answer(BUSY, TEA);
      assertThrows(OverloadedException.class, () -> once.read("MEMORY.md"));
    }
    assertEquals(1, service.seen.size());
  }

  @Test
  void theServersDelayIsWaitedFor() {
    service.answer(BUSY.retryAfter(2_000), TEA);
    client.read("MEMORY.md");
    assertTrue(pace.waited().compareTo(Duration.ofSeconds(2)) >= 0, pace.pauses::toString);
    assertTrue(pace.waited().compareTo(Duration.ofMillis(2_400)) <= 0, pace.pauses::toString);
  }

  @Test
  void aCallBeyondTheRateWaitsAsItWasTold() {
    service.answer(Refusal.of(Code.RESOURCE_EXHAUSTED, "RATE_LIMITED").retryAfter(3_000), WRITTEN);
    client.write("memory", "tea");
    assertTrue(pace.waited().compareTo(Duration.ofSeconds(3)) >= 0, pace.pauses::toString);
  }

  @Test
  void aDelayBeyondTheDeadlineThrowsAtOnce() {
    service.answer(BUSY.retryAfter(60_000));
    var error = assertThrows(OverloadedException.class, () -> client.read("MEMORY.md"));
    assertEquals(Duration.ofMinutes(1), error.retryAfter().orElseThrow());
    assertEquals(List.of(), pace.pauses);
  }

  @Test
  void theDeadlineIsForAllTriesTogether() {
    service.answer(BUSY.retryAfter(6_000), BUSY.retryAfter(6_000), TEA);
    var error = assertThrows(OverloadedException.class, () -> client.read("MEMORY.md"));
    assertEquals("OVERLOADED", error.reason());
    double first = service.seen.get(0).secondsLeft();
    double second = service.seen.get(1).secondsLeft();
    assertTrue(first > 5 && first <= 10, "first: " + first);
    assertTrue(second <= 4, "second: " + second);
    assertEquals(2, service.seen.size());
  }

  @Test
  void aCallsDeadlineOverridesTheClients() {
    service.answer(TEA, TEA);
    client.withDeadline(Duration.ofMinutes(5)).read("MEMORY.md");
    client.read("MEMORY.md");
    assertTrue(service.seen.get(0).secondsLeft() > 200);
    assertTrue(service.seen.get(1).secondsLeft() <= 10);
    for (Duration wrong : List.of(Duration.ZERO, Duration.ofSeconds(-1))) {
      assertThrows(IllegalArgumentException.class, () -> client.withDeadline(wrong));
    }
  }

  @Test
  void aDeadlineThatPassesHereIsNotRepeated() {
    service.answer(ScriptedService.SILENCE);
    var hasty = client.withDeadline(Duration.ofMillis(100));
    var error = assertThrows(DeadlineExceededException.class, () -> hasty.read("MEMORY.md"));
    assertEquals("", error.reason());
    assertTrue(service.seen.size() <= 1);
  }

  @TestFactory
  Stream<DynamicTest> whatMustNotBeRepeatedIsTriedOnce() {
    Map<Refusal, Class<? extends MemoryServiceException>> refusals =
        Map.of(
            Refusal.of(Code.UNAVAILABLE, "OUTCOME_UNKNOWN"),
            OutcomeUnknownException.class,
            Refusal.of(Code.ABORTED, "CONTENT_CHANGED"),
            ContentChangedException.class,
            Refusal.of(Code.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"),
            DeadlineExceededException.class,
            Refusal.of(Code.UNKNOWN, ""),
            MemoryServiceException.class);
    return refusals.entrySet().stream()
        .map(
            entry ->
                DynamicTest.dynamicTest(
                    entry.getKey().code() + " " + entry.getKey().reason(),
                    () -> isTriedOnce(entry.getKey(), entry.getValue())));
  }

  private void isTriedOnce(Refusal refusal, Class<? extends MemoryServiceException> expected) {
    service.seen.clear();
    service.answer(refusal);
    assertThrows(expected, () -> client.write("memory", "tea"));
    assertEquals(1, service.seen.size());
  }

  @Test
  void aLostRaceIsRunAgainOnlyWithoutAPrecondition() {
    service.answer(LOST_RACE, WRITTEN);
    client.write("memory", "tea");
    assertEquals(2, service.seen.size());
    service.answer(LOST_RACE, LOST_RACE, LOST_RACE, LOST_RACE, LOST_RACE);
    for (Consumer<MemoryClient> conditional :
        List.<Consumer<MemoryClient>>of(
            c -> c.write(w -> w.setContent("tea").setExpectedSha256("0".repeat(64))),
            c -> c.write(w -> w.setContent("tea").setMustNotExist(true)),
            c -> c.restoreVersion("a.md", 1, r -> r.setExpectedSha256("0".repeat(64))),
            c -> c.deleteDocument("a.md", d -> d.setExpectedSha256("0".repeat(64))),
            c -> c.read("a.md"))) {
      assertThrows(ConflictException.class, () -> conditional.accept(client));
    }
    assertEquals(7, service.seen.size());
  }

  @Test
  void anInterruptedWaitEndsTheCall() {
    Pace interrupted =
        new Pace() {
          @Override
          public long nanoTime() {
            return 0;
          }

          @Override
          public void pause(Duration delay, CountDownLatch end) throws InterruptedException {
            throw new InterruptedException();
          }
        };
    service.answer(BUSY, TEA);
    try (MemoryClient other = service.client(interrupted)) {
      var error = assertThrows(CallCancelledException.class, () -> other.read("MEMORY.md"));
      assertTrue(Thread.interrupted());
      assertTrue(error.getCause() instanceof OverloadedException);
    }
    assertEquals(1, service.seen.size());
  }

  @Test
  void aClosedClientMakesNoCalls() {
    MemoryClient derived = client.withScope(scope -> scope.withAgent("coder"));
    client.close();
    assertThrows(IllegalStateException.class, () -> client.read("MEMORY.md"));
    assertThrows(IllegalStateException.class, () -> derived.watchEvents(options -> {}));
    assertEquals(List.of(), service.seen);
  }

  @Test
  void closingCancelsACallInFlight() {
    Runnable closing = client::close;
    service.answer(closing, TEA);
    var error = assertThrows(CallCancelledException.class, () -> client.read("MEMORY.md"));
    assertEquals("CANCELLED: the client was closed", error.getMessage());
    assertEquals(1, service.seen.size());
  }

  @Test
  void closingEndsTheWaitForTheNextTry() throws InterruptedException {
    var waiting = new CountDownLatch(1);
    Pace real =
        new Pace() {
          @Override
          public long nanoTime() {
            return 0;
          }

          @Override
          public void pause(Duration delay, CountDownLatch end) throws InterruptedException {
            waiting.countDown();
            end.await();
          }
        };
    service.answer(BUSY, TEA);
    MemoryClient other = service.client(real);
    Throwable[] thrown = new Throwable[1];
    Thread call = new Thread(() -> other.read("MEMORY.md"));
    call.setUncaughtExceptionHandler((thread, error) -> thrown[0] = error);
    call.start();
    waiting.await();
    other.close();
    call.join();
    assertSame(CallCancelledException.class, thrown[0].getClass());
  }

  private List<String> methods() {
    return service.seen.stream().map(ScriptedService.Seen::method).toList();
  }

  private List<String> requestIds() {
    return service.seen.stream().map(seen -> seen.header(REQUEST_ID)).toList();
  }
}
