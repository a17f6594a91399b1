package dev.ironclaw.memory;

import com.google.protobuf.Message;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Tells text from what UTF-8 cannot carry. Java and protobuf send a question mark in place of a
 * lone surrogate; in a memory or a scope that would be a silent change, so it is refused instead.
 */
final class WellFormedText {
  private WellFormedText() {}

  /**
   * Returns the text as UTF-8.
   *
   * @throws IllegalArgumentException it has a lone surrogate
   */
  static byte[] utf8(String name, String text) {
    try {
      ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] copy = new byte[bytes.remaining()];
      bytes.get(copy);
      return copy;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException(name + " has a lone surrogate, so it is not text", e);
    }
  }

  /**
   * Returns when every text of the message can be sent.
   *
   * @throws IllegalArgumentException one has a lone surrogate
   */
  static void check(Message message) {
    message.getAllFields().forEach((field, value) -> check(field.getName(), value));
  }

  private static void check(String name, Object value) {
    if (value instanceof String text) {
      checkText(name, text);
    } else if (value instanceof Message inner) {
      check(inner);
    } else if (value instanceof Iterable<?> elements) {
      elements.forEach(element -> check(name, element));
    } else if (value instanceof Map<?, ?> entries) {
      entries.forEach((key, element) -> check(name, element));
    }
  }

  private static void checkText(String name, String text) {
    int at = 0;
    while (at < text.length()) {
      int point = text.codePointAt(at);
      if (point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE) {
        throw new IllegalArgumentException(name + " has a lone surrogate, so it is not text");
      }
      at += Character.charCount(point);
    }
  }
}
