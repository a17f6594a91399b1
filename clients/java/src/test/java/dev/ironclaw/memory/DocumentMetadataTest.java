package dev.ironclaw.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Metadata from plain Java values. */
class DocumentMetadataTest {
  @Test
  void everyKindOfJsonValueIsTaken() throws InvalidProtocolBufferException {
    Map<String, Object> values = new LinkedHashMap<>();
    values.put("read_only", true);
    values.put("hygiene", Map.of("retention_days", 30));
    values.put("schema", null);
    values.put("tags", Arrays.asList("a", 1.5, null, List.of()));
    var printer = JsonFormat.printer().omittingInsignificantWhitespace().sortingMapKeys();
    assertEquals(
        "{\"hygiene\":{\"retention_days\":30},\"read_only\":true,"
            + "\"schema\":null,\"tags\":[\"a\",1.5,null,[]]}",
        printer.print(DocumentMetadata.of(values)).replace("30.0", "30"));
  }

  static List<Map<String, Object>> wrong() {
    return List.of(
        Map.of("a", new Object()),
        Map.of("a", Double.NaN),
        Map.of("a", List.of(Double.POSITIVE_INFINITY)),
        Map.of("a", Map.of(1, "b")));
  }

  @ParameterizedTest
  @MethodSource("wrong")
  void whatJsonCannotHoldIsRefused(Map<String, Object> values) {
    assertThrows(IllegalArgumentException.class, () -> DocumentMetadata.of(values));
  }
}
