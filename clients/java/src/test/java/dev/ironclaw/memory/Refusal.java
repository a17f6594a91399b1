package dev.ironclaw.memory;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Map;

/** A failure as the service sends it; without a reason, as anything else on the way would. */
record Refusal(
    Status.Code code,
    String reason,
    String message,
    Long retryAfterMillis,
    Map<String, String> metadata,
    Map<String, String> fields,
    String domain) {

  static Refusal of(Status.Code code, String reason) {
    return new Refusal(code, reason, "No.", null, Map.of(), Map.of(), "memory.ironclaw");
  }

  Refusal message(String message) {
    return new Refusal(code, reason, message, retryAfterMillis, metadata, fields, domain);
  }

  Refusal retryAfter(long millis) {
    return new Refusal(code, reason, message, millis, metadata, fields, domain);
  }

  Refusal metadata(Map<String, String> metadata) {
    return new Refusal(code, reason, message, retryAfterMillis, metadata, fields, domain);
  }

  Refusal fields(Map<String, String> fields) {
    return new Refusal(code, reason, message, retryAfterMillis, metadata, fields, domain);
  }

  Refusal domain(String domain) {
    return new Refusal(code, reason, message, retryAfterMillis, metadata, fields, domain);
  }

  StatusRuntimeException exception() {
    var status = com.google.rpc.Status.newBuilder().setCode(code.value()).setMessage(message);
    if (!reason.isEmpty()) {
      status.addDetails(Any.pack(errorInfo()));
    }
    if (!fields.isEmpty()) {
      status.addDetails(Any.pack(badRequest()));
    }
    if (retryAfterMillis != null) {
      status.addDetails(Any.pack(retryInfo()));
    }
    return StatusProto.toStatusRuntimeException(status.build());
  }

  private ErrorInfo errorInfo() {
    var info = ErrorInfo.newBuilder().setReason(reason).setDomain(domain);
    return info.putMetadata("kind", "input").putAllMetadata(metadata).build();
  }

  private BadRequest badRequest() {
    BadRequest.Builder request = BadRequest.newBuilder();
    fields.forEach(
        (name, text) -> request.addFieldViolationsBuilder().setField(name).setDescription(text));
    return request.build();
  }

  private RetryInfo retryInfo() {
    Duration.Builder delay = Duration.newBuilder().setSeconds(retryAfterMillis / 1000);
    delay.setNanos((int) (retryAfterMillis % 1000) * 1_000_000);
    return RetryInfo.newBuilder().setRetryDelay(delay).build();
  }
}
