package dev.ironclaw.memory.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dev.ironclaw.memory.Scope;

/** Who makes the calls of a scenario: the client, or in the runner's own tests a script. */
interface Caller {
  /** What a tool call came to: an output, or the error for the model. */
  record ToolAnswer(JsonElement output, JsonObject error) {}

  /** What a call came to: a response, or a status with its reason. */
  record RpcAnswer(JsonObject response, String status, String reason) {}

  /**
   * Runs a tool.
   *
   * @throws Mismatch the call itself failed
   */
  ToolAnswer invoke(Scope scope, String tool, String argumentsJson);

  /** Calls a method by its full name, with a request in protobuf JSON. */
  RpcAnswer call(Scope scope, String rpc, JsonObject request);
}
