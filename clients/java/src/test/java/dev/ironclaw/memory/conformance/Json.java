package dev.ironclaw.memory.conformance;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSyntaxException;
import com.google.gson.Strictness;
import java.util.Optional;

/** JSON as the standard has it: nothing that a lenient reader would forgive. */
final class Json {
  private static final Gson STRICT =
      new GsonBuilder()
          .setStrictness(Strictness.STRICT)
          .serializeNulls()
          .disableHtmlEscaping()
          .create();

  private Json() {}

  /** Returns the parsed text; nothing when it is no JSON. */
  static Optional<JsonElement> parse(String text) {
    try {
      return Optional.ofNullable(STRICT.fromJson(text, JsonElement.class));
    } catch (JsonSyntaxException e) {
      return Optional.empty();
    }
  }

  static String print(JsonElement element) {
    return STRICT.toJson(element);
  }

  static boolean isText(JsonElement element) {
    return element instanceof JsonPrimitive primitive && primitive.isString();
  }

  static boolean isNumber(JsonElement element) {
    return element instanceof JsonPrimitive primitive && primitive.isNumber();
  }

  static boolean isBoolean(JsonElement element) {
    return element instanceof JsonPrimitive primitive && primitive.isBoolean();
  }
}
