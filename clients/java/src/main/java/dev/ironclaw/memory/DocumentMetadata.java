package dev.ironclaw.memory;

import com.google.protobuf.ListValue;
import com.google.protobuf.NullValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import java.util.Map;

/** A document's metadata from plain Java values, for {@code setMetadata} of a request. */
public final class DocumentMetadata {
  private DocumentMetadata() {}

  /**
   * Returns the values as the message that requests take.
   *
   * @param values texts, numbers, booleans, nulls, maps with texts as keys, and iterables of those
   * @return the message
   * @throws IllegalArgumentException a value is of another kind, or a number that JSON cannot have
   */
  public static Struct of(Map<String, ?> values) {
    return struct(values);
  }

  private static Struct struct(Map<?, ?> values) {
    Struct.Builder struct = Struct.newBuilder();
    values.forEach((key, value) -> struct.putFields(key(key), value(value)));
    return struct.build();
  }

  private static String key(Object key) {
    if (key instanceof String text) {
      return text;
    }
    throw new IllegalArgumentException("a key of metadata must be a text, not " + key);
  }

  private static Value value(Object value) {
    Value.Builder made = Value.newBuilder();
    if (value == null) {
      made.setNullValue(NullValue.NULL_VALUE);
    } else if (value instanceof String text) {
      made.setStringValue(text);
    } else if (value instanceof Boolean flag) {
      made.setBoolValue(flag);
    } else if (value instanceof Number number && Double.isFinite(number.doubleValue())) {
      made.setNumberValue(number.doubleValue());
    } else if (value instanceof Map<?, ?> inner) {
      made.setStructValue(struct(inner));
    } else if (value instanceof Iterable<?> elements) {
      made.setListValue(list(elements));
    } else {
      throw new IllegalArgumentException("metadata cannot be put as JSON: " + value);
    }
    return made.build();
  }

  private static ListValue list(Iterable<?> elements) {
    ListValue.Builder list = ListValue.newBuilder();
    elements.forEach(element -> list.addValues(value(element)));
    return list.build();
  }
}
