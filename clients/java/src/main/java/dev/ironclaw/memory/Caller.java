package dev.ironclaw.memory;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.util.concurrent.TimeUnit;

/**
 * Makes calls, as often as the rules in {@link Tries} allow.
 *
 * @param connection shared with the clients that were derived
 * @param settings of one client
 */
record Caller(Connection connection, Settings settings) {

  <Q extends Message, A> A make(Call<Q, A> call) {
    connection.requireOpen();
    WellFormedText.check(call.request());
    Channel channel = connection.with(settings.metadata(call.changes()));
    Tries tries = settings.tries(connection.now(), call.changes() && !call.conditional());
    while (true) {
      try {
        return ClientCalls.blockingUnaryCall(channel, call.method(), limit(tries), call.request());
      } catch (StatusRuntimeException failure) {
        connection.awaitNextTry(tries, FailureReader.exceptionOf(failure));
      }
    }
  }

  private CallOptions limit(Tries tries) {
    long left = tries.nanosLeft(connection.now());
    return CallOptions.DEFAULT.withDeadlineAfter(left, TimeUnit.NANOSECONDS);
  }
}
