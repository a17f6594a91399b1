package dev.ironclaw.memory.conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.google.gson.JsonElement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The matcher can fail: each rule has a case that holds and one that doesn't. */
class MatchingTest {
  private static JsonElement json(String text) {
    return text == null ? null : Json.parse(text.replace('\'', '"')).orElseThrow();
  }

  static List<Arguments> holds() {
    return List.of(
        arguments("object by the keys given", "{'a': 1}", "{'a': 1, 'b': 2}"),
        arguments("empty object", "{}", "{'a': 1}"),
        arguments("list by its first elements", "[1]", "[1, 2]"),
        arguments("empty list", "[]", "[]"),
        arguments("objects in a list", "[{'a': 1}]", "[{'a': 1, 'b': 2}]"),
        arguments("number printed as text", "7", "'7'"),
        arguments("text that stands for a number", "'7'", "7"),
        arguments("number by value", "1.0", "1"),
        arguments("boolean", "true", "true"),
        arguments("null", "null", "null"),
        arguments("any: false is a value", "{'$any': true}", "false"),
        arguments("any: 0 is a value", "{'$any': true}", "0"),
        arguments("contains", "{'$contains': 'b'}", "'abc'"),
        arguments("contains each", "{'$contains': ['a', 'c']}", "'abc'"),
        arguments("not contains", "{'$not_contains': ['x', 'y']}", "'abc'"),
        arguments("prefix", "{'$prefix': 'a'}", "'abc'"),
        arguments("ends with", "{'$ends_with': 'c'}", "'abc'"),
        arguments("max bytes", "{'$max_bytes': 3}", "'茶'"),
        arguments("length of a list", "{'$length': 2}", "[1, 2]"),
        arguments("length of a text", "{'$length': 2}", "'a😀'"),
        arguments("operators together", "{'$length': 1, '$each': {'a': 1}}", "[{'a': 1}]"),
        arguments("each", "{'$each': {'$prefix': 'a'}}", "['ab', 'ac']"),
        arguments("last", "{'$last': 'b'}", "['a', 'b']"),
        arguments("in", "{'$in': ['a', 'b']}", "'b'"),
        arguments("json", "{'$json': {'a': 1}}", "'{\\'a\\': 1, \\'b\\': 2}'"),
        arguments("json in base64", "{'$json_base64': {'a': 1}}", "'eyJhIjogMX0='"));
  }

  static List<Arguments> fails() {
    return List.of(
        arguments("object without the key", "{'a': 1}", "{'b': 1}"),
        arguments("null isn't absent", "{'a': null}", "{}"),
        arguments("a default isn't absent in tool JSON", "{'a': 0}", "{}"),
        arguments("object against a list", "{'a': 1}", "[1]"),
        arguments("deep", "{'a': {'b': 1}}", "{'a': {'b': 2}}"),
        arguments("list too short", "[1, 2]", "[1]"),
        arguments("list out of order", "[2]", "[1, 2]"),
        arguments("empty list against elements", "[]", "[1]"),
        arguments("empty list against nothing", "[]", null),
        arguments("list against text", "[1]", "'1'"),
        arguments("other number", "7", "8"),
        arguments("number against words", "7", "'seven'"),
        arguments("a boolean isn't a number", "1", "true"),
        arguments("a number isn't a boolean", "true", "1"),
        arguments("false isn't null", "false", "null"),
        arguments("letter case", "'a'", "'A'"),
        arguments("text isn't a prefix", "'a'", "'ab'"),
        arguments("text against an object", "'a'", "{'a': 1}"),
        arguments("any: empty text", "{'$any': true}", "''"),
        arguments("any: null", "{'$any': true}", "null"),
        arguments("any: absent", "{'$any': true}", null),
        arguments("contains one only", "{'$contains': ['a', 'x']}", "'abc'"),
        arguments("contains against a list", "{'$contains': '1'}", "[1]"),
        arguments("contains what it must not", "{'$not_contains': ['x', 'b']}", "'abc'"),
        arguments("not contains against nothing", "{'$not_contains': 'x'}", null),
        arguments("other prefix", "{'$prefix': 'b'}", "'abc'"),
        arguments("other end", "{'$ends_with': 'b'}", "'abc'"),
        arguments("too many bytes, though one character", "{'$max_bytes': 2}", "'茶'"),
        arguments("other length", "{'$length': 1}", "[1, 2]"),
        arguments("length of nothing", "{'$length': 0}", null),
        arguments("one that doesn't match", "{'$each': {'a': 1}}", "[{'a': 1}, {'a': 2}]"),
        arguments("each of none proves nothing", "{'$each': {'a': 1}}", "[]"),
        arguments("first isn't last", "{'$last': 'a'}", "['a', 'b']"),
        arguments("last of none", "{'$last': 'a'}", "[]"),
        arguments("not in", "{'$in': ['a', 'b']}", "'c'"),
        arguments("in against nothing", "{'$in': ['a', 'b']}", null),
        arguments("other JSON", "{'$json': {'a': 2}}", "'{\\'a\\': 1}'"),
        arguments("broken JSON", "{'$json': {'a': 2}}", "'{'"),
        arguments("lenient JSON", "{'$json': {'a': 2}}", "'{a: 2}'"),
        arguments("more than JSON", "{'$json': {'a': 2}}", "'{\\'a\\': 2} x'"),
        arguments("other JSON in base64", "{'$json_base64': {'a': 2}}", "'eyJhIjogMX0='"),
        arguments("broken base64", "{'$json_base64': {'a': 1}}", "'%'"),
        arguments("an operator that nobody knows", "{'$contians': 'a'}", "'a'"),
        arguments("one operator of two", "{'$length': 2, '$each': {'a': 1}}", "[{'a': 1}]"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("holds")
  void matches(String name, String expected, String actual) {
    new Matching(false).match(json(expected), json(actual), "answer");
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("fails")
  void doesNotMatch(String name, String expected, String actual) {
    var matching = new Matching(false);
    assertThrows(Mismatch.class, () -> matching.match(json(expected), json(actual), "answer"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "''", "false", "[]", "0.0", "{}", "null"})
  void anAbsentProtobufFieldIsItsDefault(String value) {
    new Matching(true).match(json("{'a': " + value + "}"), json("{}"), "answer");
  }

  @ParameterizedTest
  @ValueSource(strings = {"1", "'a'", "true", "[1]", "{'b': 1}"})
  void anAbsentProtobufFieldIsNothingElse(String value) {
    var expected = json("{'a': " + value + "}");
    var matching = new Matching(true);
    assertThrows(Mismatch.class, () -> matching.match(expected, json("{}"), "answer"));
  }

  @Test
  void theMessageNamesThePlace() {
    var expected = json("{'results': [{}, {'path': 'b'}]}");
    var actual = json("{'results': [{}, {'path': 'c'}]}");
    var matching = new Matching(true);
    var mismatch = assertThrows(Mismatch.class, () -> matching.match(expected, actual, "response"));
    assertEquals("response.results[1].path: expected \"b\", got \"c\"", mismatch.getMessage());
  }
}
