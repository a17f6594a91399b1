package dev.ironclaw.memory;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import com.google.rpc.Status;
import dev.ironclaw.memory.errors.ErrorDetails;
import dev.ironclaw.memory.errors.FieldViolation;
import dev.ironclaw.memory.errors.MemoryServiceException;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** From a failed call to the exception to throw: the reading of {@code google.rpc} details. */
final class FailureReader {
  private static final String DOMAIN = "memory.ironclaw";

  private FailureReader() {}

  static MemoryServiceException exceptionOf(StatusRuntimeException failure) {
    MemoryServiceException exception = MemoryServiceException.of(detailsOf(failure));
    exception.initCause(failure);
    return exception;
  }

  /** Returns the code and message always, the rest as far as the service sent it. */
  private static ErrorDetails detailsOf(StatusRuntimeException failure) {
    Status status = statusOf(failure);
    var code = failure.getStatus().getCode();
    String message = Optional.ofNullable(failure.getStatus().getDescription()).orElse("");
    return detail(status, ErrorInfo.class)
        .filter(info -> info.getDomain().equals(DOMAIN)) // a proxy's details are not ours to read
        .map(info -> detailsOf(code, message, info, status))
        .orElseGet(() -> ErrorDetails.of(code, message));
  }

  private static ErrorDetails detailsOf(
      io.grpc.Status.Code code, String message, ErrorInfo info, Status status) {
    Map<String, String> metadata = new HashMap<>(info.getMetadataMap());
    String kind = Optional.ofNullable(metadata.remove("kind")).orElse("");
    return new ErrorDetails(
        code,
        message,
        info.getReason(),
        kind,
        metadata,
        violationsOf(status),
        retryAfterOf(status).orElse(null));
  }

  /**
   * Returns an empty status where there is none, a broken one, or one that contradicts the call.
   */
  private static Status statusOf(StatusRuntimeException failure) {
    try {
      return Optional.ofNullable(StatusProto.fromThrowable(failure))
          .orElseGet(Status::getDefaultInstance);
    } catch (IllegalArgumentException e) {
      return Status.getDefaultInstance();
    }
  }

  private static List<FieldViolation> violationsOf(Status status) {
    return detail(status, BadRequest.class).stream()
        .flatMap(request -> request.getFieldViolationsList().stream())
        .map(violation -> new FieldViolation(violation.getField(), violation.getDescription()))
        .toList();
  }

  private static Optional<Duration> retryAfterOf(Status status) {
    return detail(status, RetryInfo.class)
        .map(info -> ProtoTime.toDuration(info.getRetryDelay()))
        .map(delay -> delay.isNegative() ? Duration.ZERO : delay);
  }

  private static <D extends Message> Optional<D> detail(Status status, Class<D> type) {
    for (Any packed : status.getDetailsList()) {
      if (packed.is(type)) {
        return unpacked(packed, type);
      }
    }
    return Optional.empty();
  }

  private static <D extends Message> Optional<D> unpacked(Any packed, Class<D> type) {
    try {
      return Optional.of(packed.unpack(type));
    } catch (InvalidProtocolBufferException e) {
      return Optional.empty();
    }
  }
}
