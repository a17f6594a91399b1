// Package conformance runs the service's conformance vectors, which lie in the repository under tests/conformance/vectors
// with the rules for reading them, through this client.
package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// missing stands for a key that an answer doesn't have.
type missing struct{}

// matcher holds an answer against an expectation of the vectors.
type matcher struct {
	// absentIsDefault is whether a missing key counts as its type's default, as in protobuf JSON.
	absentIsDefault bool
}

// match returns nil when actual is what expected asks for, else an error that says where it isn't.
func (m matcher) match(expected, actual any, where string) error {
	if operators, ok := asOperators(expected); ok {
		return m.matchOperators(operators, actual, where)
	}
	if (actual == any(missing{})) {
		return require(m.absentIsDefault && isDefault(expected), where, expected, actual)
	}
	switch expected := expected.(type) {
	case map[string]any:
		return m.matchObject(expected, actual, where)
	case []any:
		return m.matchList(expected, actual, where)
	default:
		return require(sameScalar(expected, actual), where, expected, actual)
	}
}

func require(holds bool, where string, expected, actual any) error {
	if holds {
		return nil
	}
	return fmt.Errorf("%s: expected %s, got %s", where, short(expected), short(actual))
}

func short(value any) string {
	text := fmt.Sprintf("%#v", value)
	if len(text) > 300 {
		return fmt.Sprintf("%s… (%d bytes)", text[:300], len(text))
	}
	return text
}

func asOperators(expected any) (map[string]any, bool) {
	object, ok := expected.(map[string]any)
	for key := range object {
		ok = ok && strings.HasPrefix(key, "$")
	}
	return object, ok && len(object) > 0
}

func isDefault(expected any) bool {
	switch expected := expected.(type) {
	case map[string]any:
		return len(expected) == 0
	case []any:
		return len(expected) == 0
	}
	return expected == nil || expected == "" || expected == false || expected == 0.0
}

// sameScalar compares numbers by value, however JSON prints them; nothing else counts as a number.
func sameScalar(expected, actual any) bool {
	if text, ok := expected.(string); ok && actual == any(text) {
		return true
	}
	want, wanted := number(expected)
	got, given := number(actual)
	if wanted && given {
		return want == got
	}
	switch expected.(type) {
	case bool, nil:
		return expected == actual
	}
	return false
}

// number reads a number, also one that protobuf JSON prints as text because it has 64 bits.
func number(value any) (float64, bool) {
	switch value := value.(type) {
	case float64:
		return value, true
	case string:
		digits := strings.TrimPrefix(value, "-")
		if digits == "" || strings.Trim(digits, "0123456789") != "" {
			return 0, false
		}
		found, err := strconv.ParseFloat(value, 64)
		return found, err == nil
	}
	return 0, false
}

func (m matcher) matchObject(expected map[string]any, actual any, where string) error {
	object, ok := actual.(map[string]any)
	if !ok {
		return require(false, where, expected, actual)
	}
	for _, key := range slices.Sorted(maps.Keys(expected)) {
		value, ok := object[key]
		if !ok {
			value = missing{}
		}
		if err := m.match(expected[key], value, where+"."+key); err != nil {
			return err
		}
	}
	return nil
}

func (m matcher) matchList(expected []any, actual any, where string) error {
	list, ok := actual.([]any)
	if !ok || len(list) < len(expected) || (len(expected) == 0 && len(list) > 0) {
		return require(false, where, expected, actual)
	}
	for index, value := range expected {
		if err := m.match(value, list[index], fmt.Sprintf("%s[%d]", where, index)); err != nil {
			return err
		}
	}
	return nil
}

func (m matcher) matchOperators(operators map[string]any, actual any, where string) error {
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		argument := operators[name]
		if check, ok := checks[name]; ok {
			if err := require(check(argument, actual), where+" "+name, argument, actual); err != nil {
				return err
			}
		} else if open, ok := openings[name]; ok {
			values, ok := open(actual)
			if !ok {
				return require(false, where+" "+name, argument, actual)
			}
			for index, value := range values {
				if err := m.match(argument, value, fmt.Sprintf("%s %s %d", where, name, index)); err != nil {
					return err
				}
			}
		} else {
			return fmt.Errorf("%s: the vectors use an operator that nobody knows: %s", where, name)
		}
	}
	return nil
}

// checks are the operators that look at one value.
var checks = map[string]func(argument, actual any) bool{
	"$any": func(_, actual any) bool { return actual != any(missing{}) && actual != nil && actual != "" },
	"$contains": func(argument, actual any) bool {
		return ofText(actual, func(text string) bool {
			return !slices.ContainsFunc(texts(argument), func(part string) bool { return !strings.Contains(text, part) })
		})
	},
	"$not_contains": func(argument, actual any) bool {
		return ofText(actual, func(text string) bool {
			return !slices.ContainsFunc(texts(argument), func(part string) bool { return strings.Contains(text, part) })
		})
	},
	"$prefix": func(argument, actual any) bool {
		return ofText(actual, func(text string) bool { return strings.HasPrefix(text, argument.(string)) })
	},
	"$ends_with": func(argument, actual any) bool {
		return ofText(actual, func(text string) bool { return strings.HasSuffix(text, argument.(string)) })
	},
	"$max_bytes": func(argument, actual any) bool {
		return ofText(actual, func(text string) bool { return float64(len(text)) <= argument.(float64) })
	},
	"$length": func(argument, actual any) bool {
		if list, ok := actual.([]any); ok {
			return float64(len(list)) == argument
		}
		return ofText(actual, func(text string) bool { return float64(utf8.RuneCountInString(text)) == argument })
	},
	"$in": func(argument, actual any) bool {
		return slices.ContainsFunc(argument.([]any), func(choice any) bool { return sameScalar(choice, actual) })
	},
}

func ofText(actual any, holds func(string) bool) bool {
	text, ok := actual.(string)
	return ok && holds(text)
}

// texts returns the one text or the several that an operator names.
func texts(argument any) []string {
	if text, ok := argument.(string); ok {
		return []string{text}
	}
	var all []string
	for _, text := range argument.([]any) {
		all = append(all, text.(string))
	}
	return all
}

// openings are the operators that lead to further values, of which there must be at least one.
var openings = map[string]func(actual any) ([]any, bool){
	"$each": func(actual any) ([]any, bool) {
		list, _ := actual.([]any)
		return list, len(list) > 0
	},
	"$last": func(actual any) ([]any, bool) {
		list, _ := actual.([]any)
		return list[max(0, len(list)-1):], len(list) > 0
	},
	"$json": func(actual any) ([]any, bool) {
		text, ok := actual.(string)
		value, err := parse([]byte(text))
		return []any{value}, ok && err == nil
	},
	"$json_base64": func(actual any) ([]any, bool) {
		text, ok := actual.(string)
		decoded, bad := base64.StdEncoding.DecodeString(text)
		value, err := parse(decoded)
		return []any{value}, ok && bad == nil && err == nil
	},
}

// parse returns JSON as Go's own values.
func parse(text []byte) (value any, err error) {
	err = json.Unmarshal(text, &value)
	return value, err
}

// asJSON returns a value of the vectors as JSON text.
func asJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // as a model writes it
	err := encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
}
