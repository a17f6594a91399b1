package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.ironclaw.memory.errors.PermissionForbiddenException;
import dev.ironclaw.memory.errors.ScopeForbiddenException;
import dev.ironclaw.memory.errors.UnauthenticatedException;
import dev.ironclaw.memory.errors.UnreachableException;
import dev.ironclaw.memory.server.Certificates;
import dev.ironclaw.memory.server.ServerProcess;
import dev.ironclaw.memory.v1.ReadResponse;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.InsecureServerCredentials;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a client reaches the service, and what keeps it out. */
class ConnectionsTest {
  private static final Scope ANN = Scope.of("acme", "ann");
  private static final Duration AMPLE = Duration.ofSeconds(60);

  @TempDir Path folder;

  private static MemoryClientBuilder to(String address) {
    return MemoryClient.builder(address, ANN).deadline(AMPLE).retryPolicy(RetryPolicy.NONE);
  }

  private static List<String> tlsArguments(Certificates certificates) {
    return List.of(
        "--listen",
        "127.0.0.1:0",
        "--tls-certificate",
        certificates.certificate("server").toString(),
        "--tls-key",
        certificates.key("server").toString());
  }

  @Test
  void anApiKeyOpensItsOwnScopeOverTls() throws IOException {
    var certificates = new Certificates(folder).issue("server", "IP:127.0.0.1,DNS:memory.example");
    List<String> keys = new ArrayList<>();
    ServerProcess.Preparation prepare =
        data -> {
          keys.add(createKey(data));
          return tlsArguments(certificates);
        };
    Tls trusting = Tls.trusting(certificates.authority());
    try (var server = ServerProcess.start(prepare)) {
      try (var ann = to(server.address()).tls(trusting).token(keys.get(0)).build()) {
        ann.write("memory", "User drinks tea.");
        var pinned = ann.withScope(Scope.OF_CREDENTIAL);
        assertEquals("User drinks tea.\n", pinned.read("MEMORY.md").getContent());
        var ben = ann.withScope(scope -> scope.withUser("ben"));
        assertThrows(ScopeForbiddenException.class, () -> ben.read("MEMORY.md"));
        var denied = assertThrows(PermissionForbiddenException.class, ann::getScopeStats);
        assertEquals("admin", denied.permission());
      }
      refused(UnauthenticatedException.class, to(server.address()).tls(trusting));
      refused(UnauthenticatedException.class, to(server.address()).tls(trusting).token("icm_x"));
      refused(UnreachableException.class, to(server.address()).tls(Tls.trustingPlatform()));
      refused(UnreachableException.class, to(server.address()));
      var otherName = trusting.withServerName("other.example");
      refused(UnreachableException.class, to(server.address()).tls(otherName));
    }
  }

  private static String createKey(Path folder) throws IOException {
    String data = ServerProcess.dataDir(folder).toString();
    String printed =
        ServerProcess.run(
            "keys", "create", "--data-dir", data, "--tenant", "acme", "--user", "ann");
    return printed.lines().filter(line -> line.startsWith("icm_")).findFirst().orElseThrow();
  }

  @Test
  void aClientCertificateIsTheCredentialOfMutualTls() throws IOException {
    var certificates =
        new Certificates(folder)
            .issue("server", "DNS:memory.example")
            .issue("client", "URI:spiffe://example.org/agent-host");
    ServerProcess.Preparation prepare =
        data -> {
          List<String> arguments = new ArrayList<>(tlsArguments(certificates));
          arguments.addAll(List.of("--tls-client-ca", certificates.authority().toString()));
          arguments.addAll(List.of("--mtls-grants", grants().toString()));
          return arguments;
        };
    Tls trusting = Tls.trusting(certificates.authority()).withServerName("memory.example");
    Tls mutual =
        trusting.withClientCertificate(
            certificates.certificate("client"), certificates.key("client"));
    try (var server = ServerProcess.start(prepare)) {
      try (var host = to(server.address()).tls(mutual).build()) {
        host.write("memory", "User drinks tea.");
        assertEquals("User drinks tea.\n", host.read("MEMORY.md").getContent());
      }
      refused(UnreachableException.class, to(server.address()).tls(trusting));
    }
  }

  private Path grants() throws IOException {
    String grant = "[\"spiffe://example.org/agent-host\"]\ntenant = \"acme\"\nusers = \"any\"\n";
    return Files.writeString(
        folder.resolve("grants.toml"), grant + "permissions = [\"read\", \"write\"]\n");
  }

  @Test
  void aUnixSocketIsATargetToo() {
    ServerProcess.Preparation prepare =
        data -> List.of("--listen", "unix:" + data.resolve("memory.sock"));
    try (var server = ServerProcess.start(prepare);
        var client = to("unix:" + server.folder().resolve("memory.sock")).build()) {
      client.write("memory", "User drinks tea.");
      assertEquals("User drinks tea.\n", client.read("MEMORY.md").getContent());
    }
  }

  @Test
  void whatIsNoPemIsRefusedBeforeAnythingIsSent() {
    var broken = Tls.trusting(new byte[0]).withClientCertificate(new byte[] {1}, new byte[] {2});
    var builder = to("127.0.0.1:1").tls(broken);
    assertThrows(IllegalArgumentException.class, builder::build);
  }

  @Test
  void aClientRecoversWhenTheServerComesUp() throws IOException {
    int port = closedPort();
    String target = "127.0.0.1:" + port;
    var channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create()).build();
    var often = new RetryPolicy(100, Duration.ofMillis(100), Duration.ofMillis(100));
    try (var patient = to(target).retryPolicy(often).over(channel, Pace.REAL)) {
      var hasty = to(target).over(channel, Pace.REAL);
      assertThrows(UnreachableException.class, () -> hasty.read("MEMORY.md"));
      var builder = Grpc.newServerBuilderForPort(port, InsecureServerCredentials.create());
      try (var service = new ScriptedService(builder)) {
        service.answer(ReadResponse.newBuilder().setContent("tea").build());
        assertEquals("tea", patient.read("MEMORY.md").getContent());
        assertEquals(1, service.seen.size());
      }
    }
  }

  private static int closedPort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  private static void refused(Class<? extends Exception> expected, MemoryClientBuilder builder) {
    try (MemoryClient client = builder.build()) {
      var thrown = assertThrows(expected, () -> client.read("MEMORY.md"));
      assertSame(expected, thrown.getClass());
    }
  }
}
