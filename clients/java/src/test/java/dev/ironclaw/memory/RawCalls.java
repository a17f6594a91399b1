package dev.ironclaw.memory;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;

/** Calls of any method by its descriptor, with a client's own scope, credential and rules. */
public final class RawCalls {
  private RawCalls() {}

  public static Message call(
      MemoryClient client, MethodDescriptor<Message, Message> method, Message request) {
    return client.make(Call.read(method, request));
  }
}
