package dev.ironclaw.memory;

import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;

/**
 * One call, ready to be made.
 *
 * @param method which RPC
 * @param request the message
 * @param changes whether it needs a request id to be repeated safely
 * @param conditional whether it is a change with a precondition
 */
record Call<Q extends Message, A>(
    MethodDescriptor<Q, A> method, Q request, boolean changes, boolean conditional) {

  static <Q extends Message, A> Call<Q, A> read(MethodDescriptor<Q, A> method, Q request) {
    return new Call<>(method, request, false, false);
  }

  static <Q extends Message, A> Call<Q, A> change(MethodDescriptor<Q, A> method, Q request) {
    return new Call<>(method, request, true, false);
  }

  Call<Q, A> onlyIf(boolean conditional) {
    return new Call<>(method, request, changes, conditional);
  }
}
