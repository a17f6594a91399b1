package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.ironclaw.memory.errors.OverloadedException;
import dev.ironclaw.memory.errors.UnreachableException;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status.Code;
import io.grpc.inprocess.InProcessChannelBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A channel that couldn't connect is told to try again in the middle of each wait. */
class ReconnectTest {
  private final SteppedPace pace = new SteppedPace();

  /** Counts the pauses that were over at each time the channel was told to connect. */
  private final class Watched extends ManagedChannel {
    private final ManagedChannel channel;
    private final List<Integer> resetsAfter = new ArrayList<>();

    Watched(String name) {
      channel = InProcessChannelBuilder.forName(name).directExecutor().build();
    }

    @Override
    public void resetConnectBackoff() {
      resetsAfter.add(pace.pauses.size());
    }

    @Override
    public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
      return channel.newCall(method, options);
    }

    @Override
    public String authority() {
      return channel.authority();
    }

    @Override
    public ManagedChannel shutdown() {
      return channel.shutdown();
    }

    @Override
    public ManagedChannel shutdownNow() {
      return channel.shutdownNow();
    }

    @Override
    public boolean isShutdown() {
      return channel.isShutdown();
    }

    @Override
    public boolean isTerminated() {
      return channel.isTerminated();
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
      return channel.awaitTermination(timeout, unit);
    }
  }

  private MemoryClient client(Watched channel) {
    return MemoryClient.builder("x", Scope.of("acme", "ann")).over(channel, pace);
  }

  @Test
  void whereNobodyListensEachWaitConnectsAnew() {
    Watched channel = new Watched("nobody");
    try (MemoryClient client = client(channel)) {
      assertThrows(UnreachableException.class, () -> client.read("MEMORY.md"));
    }
    assertEquals(List.of(1, 3, 5), channel.resetsAfter);
    assertEquals(6, pace.pauses.size());
  }

  @Test
  void aServerThatAnsweredIsNotConnectedAnew() {
    try (var service = new ScriptedService()) {
      Watched channel = new Watched(service.name());
      Refusal busy = Refusal.of(Code.UNAVAILABLE, "OVERLOADED");
      service.answer(busy, busy, busy, busy);
      try (MemoryClient client = client(channel)) {
        assertThrows(OverloadedException.class, () -> client.read("MEMORY.md"));
      }
      assertEquals(List.of(), channel.resetsAfter);
      assertEquals(3, pace.pauses.size());
    }
  }
}
