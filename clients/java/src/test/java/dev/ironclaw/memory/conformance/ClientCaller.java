package dev.ironclaw.memory.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import dev.ironclaw.memory.MemoryClient;
import dev.ironclaw.memory.RawCalls;
import dev.ironclaw.memory.Scope;
import dev.ironclaw.memory.errors.MemoryServiceException;
import dev.ironclaw.memory.v1.MemoryAdminServiceGrpc;
import dev.ironclaw.memory.v1.MemoryLifecycleServiceGrpc;
import dev.ironclaw.memory.v1.MemoryServiceGrpc;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Makes the calls with the client, and every method by its descriptor. */
record ClientCaller(MemoryClient client) implements Caller {
  private static final Map<String, MethodDescriptor<?, ?>> METHODS =
      Stream.of(
              MemoryServiceGrpc.getServiceDescriptor(),
              MemoryLifecycleServiceGrpc.getServiceDescriptor(),
              MemoryAdminServiceGrpc.getServiceDescriptor())
          .map(ServiceDescriptor::getMethods)
          .flatMap(methods -> methods.stream())
          .collect(Collectors.toMap(MethodDescriptor::getFullMethodName, Function.identity()));

  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().preservingProtoFieldNames().includingDefaultValueFields();

  @Override
  public ToolAnswer invoke(Scope scope, String tool, String argumentsJson) {
    try {
      var result = client.withScope(scope).invoke(tool, argumentsJson);
      JsonElement error = result.error().map(ClientCaller::json).orElse(null);
      JsonElement output = error == null ? Json.parse(result.outputJson()).orElseThrow() : null;
      return new ToolAnswer(output, error == null ? null : error.getAsJsonObject());
    } catch (MemoryServiceException e) {
      throw new Mismatch("the call itself failed: " + e.code() + " " + e.getMessage());
    }
  }

  @Override
  public RpcAnswer call(Scope scope, String rpc, JsonObject request) {
    var method = method(rpc);
    try {
      Message answer = RawCalls.call(client.withScope(scope), method, message(method, request));
      return new RpcAnswer(json(answer), "OK", "");
    } catch (MemoryServiceException e) {
      return new RpcAnswer(null, e.code().name(), e.reason());
    }
  }

  @SuppressWarnings("unchecked") // every method of the protos takes and returns messages
  private static MethodDescriptor<Message, Message> method(String rpc) {
    if (!METHODS.containsKey(rpc)) {
      throw new Mismatch("there is no such method: " + rpc);
    }
    return (MethodDescriptor<Message, Message>) METHODS.get(rpc);
  }

  private static Message message(MethodDescriptor<Message, Message> method, JsonObject request) {
    var marshaller = (MethodDescriptor.PrototypeMarshaller<Message>) method.getRequestMarshaller();
    Message.Builder builder = marshaller.getMessagePrototype().newBuilderForType();
    try {
      JsonFormat.parser().merge(Json.print(request), builder);
    } catch (InvalidProtocolBufferException e) {
      throw new Mismatch("the request is no protobuf JSON: " + e.getMessage());
    }
    return builder.build();
  }

  private static JsonObject json(Message message) {
    try {
      return Json.parse(PRINTER.print(message)).orElseThrow().getAsJsonObject();
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }
}
