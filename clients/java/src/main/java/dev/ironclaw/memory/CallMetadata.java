package dev.ironclaw.memory;

import io.grpc.Metadata;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How a scope, a request id and a correlation id travel: beside the request, each under one key.
 *
 * <p>The service checks the values; here they are only carried faithfully. One that HTTP/2 headers
 * cannot carry as it is goes as UTF-8 under the key with {@code -bin}.
 */
final class CallMetadata {
  private CallMetadata() {}

  /**
   * Returns the metadata of one call; what is null is left out.
   *
   * @throws IllegalArgumentException a value has a lone surrogate, so it is not text
   */
  static Metadata of(Scope scope, String requestId, String correlationId) {
    Map<String, String> values = new LinkedHashMap<>();
    values.put("x-ironclaw-tenant-id", scope.tenant());
    values.put("x-ironclaw-user-id", scope.user());
    values.put("x-ironclaw-agent-id", scope.agent());
    values.put("x-ironclaw-project-id", scope.project());
    values.put("x-ironclaw-thread-id", scope.thread());
    values.put("x-ironclaw-request-id", requestId);
    values.put("x-ironclaw-correlation-id", correlationId);
    Metadata metadata = new Metadata();
    values.forEach((key, value) -> put(metadata, key, value));
    return metadata;
  }

  private static void put(Metadata metadata, String key, String value) {
    if (value == null) {
      return;
    }
    if (isPlain(value)) {
      metadata.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value);
    } else {
      var bytes = Metadata.Key.of(key + "-bin", Metadata.BINARY_BYTE_MARSHALLER);
      metadata.put(bytes, WellFormedText.utf8(key, value));
    }
  }

  /** Proxies and peers trim spaces around a header's value, so such a value is not plain. */
  private static boolean isPlain(String value) {
    boolean printable = value.chars().allMatch(c -> c >= ' ' && c <= '~');
    return printable && !value.startsWith(" ") && !value.endsWith(" ");
  }
}
