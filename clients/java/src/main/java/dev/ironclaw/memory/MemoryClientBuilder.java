package dev.ironclaw.memory;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** What a {@link MemoryClient} is made with; all but the target and the scope have defaults. */
public final class MemoryClientBuilder {
  private static final String USER_AGENT = "ironclaw-memory-client-java";

  private final String target;
  private final Scope scope;
  private Supplier<String> token;
  private Tls tls;
  private Duration deadline = Duration.ofSeconds(10);
  private RetryPolicy retryPolicy = RetryPolicy.DEFAULT;
  private Consumer<? super ManagedChannelBuilder<?>> channelOptions = channel -> {};

  MemoryClientBuilder(String target, Scope scope) {
    this.target = Objects.requireNonNull(target, "target");
    this.scope = Objects.requireNonNull(scope, "scope");
  }

  /**
   * Sends a credential with every call.
   *
   * @param token an API key or a signed token
   * @return this builder
   */
  public MemoryClientBuilder token(String token) {
    Objects.requireNonNull(token, "token");
    return token(() -> token);
  }

  /**
   * Sends a credential that is asked for at each call, on its thread; all tries carry the same.
   *
   * @param token returns the API key or signed token to send now
   * @return this builder
   */
  public MemoryClientBuilder token(Supplier<String> token) {
    this.token = Objects.requireNonNull(token, "token");
    return this;
  }

  /**
   * Encrypts the connection. Without, everything travels in the clear.
   *
   * @param tls whom to trust, and how to prove who calls
   * @return this builder
   */
  public MemoryClientBuilder tls(Tls tls) {
    this.tls = Objects.requireNonNull(tls, "tls");
    return this;
  }

  /**
   * Limits each call, its tries and the waits between them; 10 seconds by default.
   *
   * @param deadline longer than zero
   * @return this builder
   * @throws IllegalArgumentException it is not
   */
  public MemoryClientBuilder deadline(Duration deadline) {
    this.deadline = MemoryClient.requirePositive(deadline);
    return this;
  }

  /**
   * Says how often and how patiently calls are repeated.
   *
   * @param retryPolicy {@link RetryPolicy#NONE} turns repeating off
   * @return this builder
   */
  public MemoryClientBuilder retryPolicy(RetryPolicy retryPolicy) {
    this.retryPolicy = Objects.requireNonNull(retryPolicy, "retryPolicy");
    return this;
  }

  /**
   * Sets options of gRPC's channel, such as interceptors or an executor, over the client's own.
   *
   * @param channelOptions gets the builder of the channel
   * @return this builder
   */
  public MemoryClientBuilder channelOptions(
      Consumer<? super ManagedChannelBuilder<?>> channelOptions) {
    this.channelOptions = Objects.requireNonNull(channelOptions, "channelOptions");
    return this;
  }

  /**
   * Makes the client. It connects with the first call.
   *
   * @return the client, to be closed
   * @throws IllegalArgumentException the token would travel in the clear beyond this machine, or a
   *     certificate or key is no PEM
   */
  public MemoryClient build() {
    if (token != null && tls == null && !Credentials.isLocal(target)) {
      throw new IllegalArgumentException(
          "a token would travel in the clear;"
              + " give tls, or a target on loopback or a Unix socket");
    }
    return over(openChannel(), Pace.REAL);
  }

  /** Makes the client over a channel that is there already. */
  MemoryClient over(ManagedChannel channel, Pace pace) {
    var settings = new Settings(scope, token, retryPolicy, deadline, null, null, null);
    return new MemoryClient(new Caller(new Connection(channel, pace), settings));
  }

  private ManagedChannel openChannel() {
    ChannelCredentials credentials =
        tls == null ? InsecureChannelCredentials.create() : tls.channelCredentials();
    ManagedChannelBuilder<?> channel = Grpc.newChannelBuilder(target, credentials);
    channel.userAgent(USER_AGENT);
    // Its own tries, or those of a service config found in DNS, would follow other rules than ours.
    channel.disableRetry().disableServiceConfigLookUp();
    if (tls != null) {
      tls.serverName().ifPresent(channel::overrideAuthority);
    }
    channelOptions.accept(channel);
    return channel.build();
  }
}
