package dev.ironclaw.memory;

import com.google.protobuf.Message;
import dev.ironclaw.memory.v1.MemoryAdminServiceGrpc;
import dev.ironclaw.memory.v1.MemoryEventServiceGrpc;
import dev.ironclaw.memory.v1.MemoryLifecycleServiceGrpc;
import dev.ironclaw.memory.v1.MemoryServiceGrpc;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/**
 * A service whose answers a test writes down beforehand: for failures that a healthy server can't
 * be made to show. An answer is a message, a {@link Refusal}, something that happens instead of an
 * answer, or for a stream a list of those.
 */
final class ScriptedService implements AutoCloseable {
  /** Nothing happens, and no answer comes. */
  static final Runnable SILENCE = () -> {};

  private static final Context.Key<Metadata> METADATA = Context.key("metadata");

  private static final List<ServiceDescriptor> SERVICES =
      List.of(
          MemoryServiceGrpc.getServiceDescriptor(),
          MemoryLifecycleServiceGrpc.getServiceDescriptor(),
          MemoryAdminServiceGrpc.getServiceDescriptor(),
          MemoryEventServiceGrpc.getServiceDescriptor());

  /** One try as the server got it. */
  record Seen(String method, Object request, Metadata metadata, double secondsLeft) {
    String header(String key) {
      return metadata.get(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER));
    }

    byte[] binaryHeader(String key) {
      return metadata.get(Metadata.Key.of(key, Metadata.BINARY_BYTE_MARSHALLER));
    }
  }

  final List<Seen> seen = new CopyOnWriteArrayList<>();
  private final Deque<Object> answers = new ArrayDeque<>();
  private final Server server;
  private final String name;

  /** Serves in this process. */
  ScriptedService() {
    name = InProcessServerBuilder.generateName();
    server = start(InProcessServerBuilder.forName(name).directExecutor());
  }

  /** Serves with whatever transport the builder has. */
  ScriptedService(ServerBuilder<?> builder) {
    name = null;
    server = start(builder);
  }

  ScriptedService answer(Object... next) {
    synchronized (answers) {
      answers.addAll(Arrays.asList(next));
    }
    return this;
  }

  /** Returns its name among the servers of this process; null with another transport. */
  String name() {
    return name;
  }

  /** Returns a client over an in-process channel, with a clock of the test's. */
  MemoryClient client(Pace pace) {
    return client(MemoryClient.builder("in-process", Scope.of("acme", "ann")), pace);
  }

  MemoryClient client(MemoryClientBuilder builder, Pace pace) {
    return builder.over(InProcessChannelBuilder.forName(name).directExecutor().build(), pace);
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  private Server start(ServerBuilder<?> builder) {
    SERVICES.forEach(service -> builder.addService(definition(service)));
    try {
      return builder.intercept(new KeepMetadata()).build().start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private ServerServiceDefinition definition(ServiceDescriptor service) {
    var definition = ServerServiceDefinition.builder(service);
    for (MethodDescriptor<?, ?> method : service.getMethods()) {
      addMethod(definition, method);
    }
    return definition.build();
  }

  private <Q, A> void addMethod(
      ServerServiceDefinition.Builder definition, MethodDescriptor<Q, A> method) {
    if (method.getType() == MethodDescriptor.MethodType.UNARY) {
      definition.addMethod(method, ServerCalls.asyncUnaryCall((q, a) -> play(method, q, a)));
    } else {
      var stream = ServerCalls.<Q, A>asyncServerStreamingCall((q, a) -> play(method, q, a));
      definition.addMethod(method, stream);
    }
  }

  private <Q, A> void play(MethodDescriptor<Q, A> method, Q request, StreamObserver<A> observer) {
    var deadline = Context.current().getDeadline();
    double left = deadline == null ? -1 : deadline.timeRemaining(TimeUnit.MICROSECONDS) / 1e6;
    seen.add(new Seen(method.getBareMethodName(), request, METADATA.get(), left));
    Object answer;
    synchronized (answers) {
      answer = answers.remove();
    }
    List<?> parts = answer instanceof List<?> list ? list : List.of(answer);
    for (Object part : parts) {
      if (part instanceof Runnable event) {
        event.run();
        return;
      }
      if (part instanceof StatusRuntimeException failure) {
        observer.onError(failure);
        return;
      }
      if (part instanceof Refusal refusal) {
        observer.onError(refusal.exception());
        return;
      }
      observer.onNext(parsed(method, (Message) part));
    }
    observer.onCompleted();
  }

  private static <A> A parsed(MethodDescriptor<?, A> method, Message part) {
    return method.parseResponse(part.toByteString().newInput());
  }

  private static final class KeepMetadata implements ServerInterceptor {
    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
        ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
      Context context = Context.current().withValue(METADATA, headers);
      return Contexts.interceptCall(context, call, headers, next);
    }
  }
}
