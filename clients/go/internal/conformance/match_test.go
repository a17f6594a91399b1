package conformance

import (
	"encoding/base64"
	"strings"
	"testing"
)

var encoded = `"` + base64.StdEncoding.EncodeToString([]byte(`{"a": 1}`)) + `"`

// nothing stands for an answer that isn't there.
const nothing = "nothing"

func answer(t *testing.T, text string) any {
	t.Helper()
	if text == nothing {
		return missing{}
	}
	value, err := parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

type matchCase struct{ name, expected, actual string }

var holding = []matchCase{
	{"object by the keys given", `{"a": 1}`, `{"a": 1, "b": 2}`},
	{"empty object", `{}`, `{"a": 1}`},
	{"list by its first elements", `[1]`, `[1, 2]`},
	{"empty list", `[]`, `[]`},
	{"objects in a list", `[{"a": 1}]`, `[{"a": 1, "b": 2}]`},
	{"number printed as text", `7`, `"7"`},
	{"text that stands for a number", `"7"`, `7`},
	{"number by value", `1.0`, `1`},
	{"negative number", `-3`, `"-3"`},
	{"boolean", `true`, `true`},
	{"null", `null`, `null`},
	{"any: false is a value", `{"$any": true}`, `false`},
	{"any: 0 is a value", `{"$any": true}`, `0`},
	{"contains", `{"$contains": "b"}`, `"abc"`},
	{"contains each", `{"$contains": ["a", "c"]}`, `"abc"`},
	{"not contains", `{"$not_contains": ["x", "y"]}`, `"abc"`},
	{"prefix", `{"$prefix": "a"}`, `"abc"`},
	{"ends with", `{"$ends_with": "c"}`, `"abc"`},
	{"max bytes", `{"$max_bytes": 3}`, `"茶"`},
	{"length of a list", `{"$length": 2}`, `[1, 2]`},
	{"length of a text in characters", `{"$length": 2}`, `"茶b"`},
	{"operators together", `{"$length": 2, "$each": {"a": 1}}`, `[{"a": 1}, {"a": 1}]`},
	{"each", `{"$each": {"$prefix": "a"}}`, `["ab", "ac"]`},
	{"last", `{"$last": "b"}`, `["a", "b"]`},
	{"in", `{"$in": ["a", "b"]}`, `"b"`},
	{"json", `{"$json": {"a": 1}}`, `"{\"a\": 1, \"b\": 2}"`},
	{"json in base64", `{"$json_base64": {"a": 1}}`, encoded},
}

var failing = []matchCase{
	{"object without the key", `{"a": 1}`, `{"b": 1}`},
	{"null isn't absent", `{"a": null}`, `{}`},
	{"a default isn't absent in tool JSON", `{"a": 0}`, `{}`},
	{"object against a list", `{"a": 1}`, `[1]`},
	{"empty object against a list", `{}`, `[]`},
	{"deep", `{"a": {"b": 1}}`, `{"a": {"b": 2}}`},
	{"list too short", `[1, 2]`, `[1]`},
	{"list out of order", `[2]`, `[1, 2]`},
	{"empty list against elements", `[]`, `[1]`},
	{"empty list against nothing", `[]`, nothing},
	{"empty list against null", `[]`, `null`},
	{"list against text", `[1]`, `"1"`},
	{"other number", `7`, `8`},
	{"number against words", `7`, `"seven"`},
	{"number against an empty text", `0`, `""`},
	{"a boolean isn't a number", `1`, `true`},
	{"a number isn't a boolean", `true`, `1`},
	{"false isn't null", `false`, `null`},
	{"null isn't false", `null`, `false`},
	{"text against nothing", `"a"`, nothing},
	{"letter case", `"a"`, `"A"`},
	{"text isn't a prefix", `"a"`, `"ab"`},
	{"any: empty text", `{"$any": true}`, `""`},
	{"any: null", `{"$any": true}`, `null`},
	{"any: absent", `{"$any": true}`, nothing},
	{"contains one only", `{"$contains": ["a", "x"]}`, `"abc"`},
	{"contains against a list", `{"$contains": "1"}`, `[1]`},
	{"contains what it must not", `{"$not_contains": ["x", "b"]}`, `"abc"`},
	{"not contains against nothing", `{"$not_contains": "x"}`, nothing},
	{"other prefix", `{"$prefix": "b"}`, `"abc"`},
	{"other end", `{"$ends_with": "b"}`, `"abc"`},
	{"too many bytes, though one character", `{"$max_bytes": 2}`, `"茶"`},
	{"other length", `{"$length": 1}`, `[1, 2]`},
	{"length of nothing", `{"$length": 0}`, nothing},
	{"one that doesn't match", `{"$each": {"a": 1}}`, `[{"a": 1}, {"a": 2}]`},
	{"each of none proves nothing", `{"$each": {"a": 1}}`, `[]`},
	{"each of no list", `{"$each": {"a": 1}}`, `{"a": 1}`},
	{"first isn't last", `{"$last": "a"}`, `["a", "b"]`},
	{"last of none", `{"$last": "a"}`, `[]`},
	{"not in", `{"$in": ["a", "b"]}`, `"c"`},
	{"other JSON", `{"$json": {"a": 2}}`, `"{\"a\": 1}"`},
	{"broken JSON", `{"$json": {"a": 2}}`, `"{"`},
	{"JSON of no text", `{"$json": {"a": 2}}`, `{"a": 2}`},
	{"other JSON in base64", `{"$json_base64": {"a": 2}}`, encoded},
	{"broken base64", `{"$json_base64": {"a": 1}}`, `"%"`},
	{"an operator that nobody knows", `{"$contians": "a"}`, `"a"`},
	{"one operator of two", `{"$length": 2, "$each": {"a": 1}}`, `[{"a": 1}]`},
}

func TestWhatMatchesMatches(t *testing.T) {
	for _, test := range holding {
		if err := (matcher{}).match(answer(t, test.expected), answer(t, test.actual), "answer"); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestWhatDoesNotMatchIsReported(t *testing.T) {
	for _, test := range failing {
		if err := (matcher{}).match(answer(t, test.expected), answer(t, test.actual), "answer"); err == nil {
			t.Errorf("%s: %s passes for %s", test.name, test.actual, test.expected)
		}
	}
}

func TestAMismatchSaysWhereItIs(t *testing.T) {
	err := matcher{}.match(answer(t, `{"r": [{}, {"p": "b"}]}`), answer(t, `{"r": [{}, {"p": "c"}]}`), "response")
	if err == nil || !strings.HasPrefix(err.Error(), `response.r[1].p: expected "b", got "c"`) {
		t.Error(err)
	}
}

func TestAnAbsentProtobufFieldIsItsDefaultAndNothingElse(t *testing.T) {
	lenient := matcher{absentIsDefault: true}
	for _, value := range []string{`0`, `""`, `false`, `[]`, `0.0`} {
		if err := lenient.match(answer(t, `{"a": `+value+`}`), answer(t, `{}`), "answer"); err != nil {
			t.Error(err)
		}
		if err := lenient.match(answer(t, `{"a": `+value+`}`), answer(t, `{"a": 2}`), "answer"); err == nil {
			t.Errorf("2 passes for %s", value)
		}
	}
	for _, value := range []string{`1`, `"x"`, `true`, `[1]`, `{"b": 1}`, `{"$any": true}`} {
		if err := lenient.match(answer(t, `{"a": `+value+`}`), answer(t, `{}`), "answer"); err == nil {
			t.Errorf("nothing passes for %s", value)
		}
	}
}
