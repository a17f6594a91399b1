package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.ironclaw.memory.v1.ReadResponse;
import io.grpc.Status.Code;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What travels beside the request: scope, ids, and the credential. */
class MetadataTest {
  private static final ReadResponse TEA = ReadResponse.newBuilder().setContent("tea").build();
  private static final String USER = "x-ironclaw-user-id";

  private final ScriptedService service = new ScriptedService();
  private final MemoryClient client = service.client(new SteppedPace());

  @AfterEach
  void close() {
    client.close();
    service.close();
  }

  private ScriptedService.Seen seenFrom(MemoryClient caller) {
    service.answer(TEA);
    caller.read("MEMORY.md");
    return service.seen.get(service.seen.size() - 1);
  }

  private static Set<String> ownKeys(ScriptedService.Seen seen) {
    var keys = seen.metadata().keys().stream();
    return keys.filter(key -> key.startsWith("x-ironclaw-")).collect(Collectors.toSet());
  }

  @Test
  void eachPartOfAScopeHasItsKeyAndWhatIsAbsentIsNotSent() {
    assertEquals(Set.of("x-ironclaw-tenant-id", USER), ownKeys(seenFrom(client)));
    var whole = new Scope("acme", "ben", "coder", "apollo", "chat-1");
    var seen = seenFrom(client.withScope(whole));
    assertEquals("acme", seen.header("x-ironclaw-tenant-id"));
    assertEquals("ben", seen.header(USER));
    assertEquals("coder", seen.header("x-ironclaw-agent-id"));
    assertEquals("apollo", seen.header("x-ironclaw-project-id"));
    assertEquals("chat-1", seen.header("x-ironclaw-thread-id"));
    assertEquals(Set.of(), ownKeys(seenFrom(client.withScope(Scope.OF_CREDENTIAL))));
    assertThrows(NullPointerException.class, () -> Scope.of("acme", null));
  }

  @ParameterizedTest
  @ValueSource(strings = {"王芳", " ann", "ann ", "ann\n", "é", "a\tb", "😀"})
  void whatHeadersCannotCarryGoesAsBytesUnderOneKey(String user) {
    var seen = seenFrom(client.withScope(scope -> scope.withUser(user)));
    assertArrayEquals(user.getBytes(StandardCharsets.UTF_8), seen.binaryHeader(USER + "-bin"));
    assertNull(seen.header(USER));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "~!", "a,b"})
  void plainTextGoesAsItIs(String user) {
    var seen = seenFrom(client.withScope(scope -> scope.withUser(user)));
    assertEquals(user, seen.header(USER));
    assertNull(seen.binaryHeader(USER + "-bin"));
  }

  @Test
  void derivedClientsDifferInWhatTheyWereToldAndNothingElse() {
    var derived = client.withCorrelationId("turn-9").withScope(s -> s.withAgent("coder"));
    var seen = seenFrom(derived.withRequestId("r-1"));
    assertEquals("turn-9", seen.header("x-ironclaw-correlation-id"));
    assertEquals("r-1", seen.header("x-ironclaw-request-id"));
    assertEquals("coder", seen.header("x-ironclaw-agent-id"));
    assertEquals("ann", seen.header(USER));
    assertEquals(Set.of("x-ironclaw-tenant-id", USER), ownKeys(seenFrom(client)));
    assertEquals(Scope.of("acme", "ann"), client.scope());
  }

  @Test
  void aLoneSurrogateIsNotSent() {
    String lone = "a\ud800b";
    for (Runnable call :
        List.<Runnable>of(
            () -> client.withScope(scope -> scope.withUser(lone)).read("MEMORY.md"),
            () -> client.withRequestId(lone).read("MEMORY.md"),
            () -> client.read(lone),
            () -> client.write("memory", "tea \udfff"),
            () -> client.recordInteraction("run", List.of(Messages.user(lone))),
            () -> client.write(w -> w.setMetadata(DocumentMetadata.of(Map.of(lone, 1)))),
            () -> client.write(w -> w.setMetadata(DocumentMetadata.of(Map.of("a", lone)))),
            () -> client.watchEvents(w -> w.setCursor(lone)))) {
      assertThrows(IllegalArgumentException.class, call::run);
    }
    assertEquals(List.of(), service.seen);
    service.answer(TEA);
    assertEquals("tea", client.read("😀").getContent());
  }

  @Test
  void aTokenGoesWithEveryCallAndIsAskedForAtEach() {
    var numbers = new AtomicInteger();
    var builder = MemoryClient.builder("127.0.0.1:1", Scope.of("acme", "ann"));
    builder.token(() -> "t" + numbers.incrementAndGet());
    try (MemoryClient known = service.client(builder, new SteppedPace())) {
      service.answer(TEA, Refusal.of(Code.UNAVAILABLE, "OVERLOADED"), TEA);
      known.read("MEMORY.md");
      known.read("MEMORY.md");
    }
    var sent = service.seen.stream().map(seen -> seen.header("authorization")).toList();
    assertEquals(List.of("Bearer t1", "Bearer t2", "Bearer t2"), sent);
    assertNull(seenFrom(client).header("authorization"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "a\nb", "é", "\ud800", "Bearer x"})
  void whatIsNoTokenIsNotSent(String token) {
    var builder = MemoryClient.builder("x", Scope.of("acme", "ann")).token(token);
    try (MemoryClient wrong = service.client(builder, new SteppedPace())) {
      assertThrows(IllegalArgumentException.class, () -> wrong.read("MEMORY.md"));
    }
    assertEquals(List.of(), service.seen);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1:1",
        "127.9.9.9:1",
        "localhost:1",
        "[::1]:1",
        "unix:/run/memory.sock",
        "unix:///run/memory.sock",
        "dns:///localhost:1",
        "ipv4:127.0.0.1:1",
        "ipv6:[::1]:1",
      })
  void aTokenMayGoInTheClearOnThisMachine(String target) {
    assertTrue(Credentials.isLocal(target));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "memory.internal:1",
        "10.0.0.7:1",
        "0.0.0.0:1",
        "127.0.0.256:1",
        "[fd00::1]:1",
        "dns:///memory:1",
        "dns://127.0.0.1/memory:1",
        "ipv4:10.0.0.7:1",
        "localhost.evil.example:1",
        "127.0.0.1.evil.example:1",
        "xds:///localhost",
        "ipv4:127.0.0.1:1,10.0.0.7:1",
      })
  void aTokenNeverGoesInTheClearFurther(String target) {
    var builder = MemoryClient.builder(target, Scope.of("acme", "ann")).token("icm_x");
    var error = assertThrows(IllegalArgumentException.class, builder::build);
    assertTrue(error.getMessage().contains("in the clear"));
  }
}
