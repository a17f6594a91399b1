package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the vectors name zones, whatever the machine knows of them
)

// suite is a file of the vectors.
type suite struct {
	Suite     string     `json:"suite"`
	Scenarios []scenario `json:"scenarios"`
}

// scenario is a list of steps in a tenant of its own.
type scenario struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Thread string `json:"thread"`
	Steps  []step `json:"steps"`
}

// step is one call and what is expected of it: of a tool or of an RPC.
type step struct {
	Tool      string          `json:"tool"`
	Arguments any             `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Error     json.RawMessage `json:"error"`

	RPC      string            `json:"rpc"`
	Request  any               `json:"request"`
	Response any               `json:"response"`
	Status   string            `json:"status"`
	Reason   string            `json:"reason"`
	Save     map[string]string `json:"save"`

	As map[string]*string `json:"as"`
}

// load returns the suites of a folder. A key that nobody knows is an error: misspelt, it would make a step that checks
// nothing.
func load(folder string) ([]suite, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err == nil && len(files) == 0 {
		err = errors.New("no vectors in " + folder)
	}
	var suites []suite
	for _, file := range files {
		text, unread := os.ReadFile(file)
		loaded, unfit := read(text)
		err = errors.Join(err, unread, unfit)
		suites = append(suites, loaded)
	}
	return suites, err
}

func read(text []byte) (loaded suite, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&loaded)
	return loaded, err
}

var (
	placeholder = regexp.MustCompile(`\$\{([^}]+)\}`)
	zone        = regexp.MustCompile(`\$\{today:([^}]+)\}`)
)

// dates returns today's date in each zone that the scenario speaks of.
func (s scenario) dates(now time.Time) (string, error) {
	text, err := asJSON(s.Steps)
	var dates strings.Builder
	for _, found := range zone.FindAllSubmatch(text, -1) {
		date, unknown := today(string(found[1]), now)
		err = errors.Join(err, unknown)
		dates.WriteString(date)
	}
	return dates.String(), err
}

func today(zone string, now time.Time) (string, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return "", err
	}
	return now.In(location).Format(time.DateOnly), nil
}

// values are what placeholders stand for while a scenario runs.
type values struct {
	saved map[string]string
	now   func() time.Time
}

// resolve returns a value of the vectors with placeholders and long texts written out.
func (v values) resolve(value any) (any, error) {
	switch value := value.(type) {
	case string:
		return v.resolveText(value)
	case []any:
		return v.resolveList(value)
	case map[string]any:
		if parts, ok := value["$join"].([]any); ok && len(value) == 1 {
			return v.join(parts)
		}
		if parts, ok := value["$repeat"].([]any); ok && len(value) == 1 {
			return v.repeat(parts)
		}
		return v.resolveObject(value)
	}
	return value, nil
}

func (v values) resolveText(text string) (any, error) {
	var unknown error
	written := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		stands, err := v.standsFor(found[2 : len(found)-1])
		unknown = errors.Join(unknown, err)
		return stands
	})
	return written, unknown
}

func (v values) standsFor(name string) (string, error) {
	if zone, ok := strings.CutPrefix(name, "today:"); ok {
		return today(zone, v.now())
	}
	saved, ok := v.saved[name]
	if !ok {
		return "", fmt.Errorf("no earlier step saved %q", name)
	}
	return saved, nil
}

func (v values) resolveList(list []any) (any, error) {
	resolved := make([]any, len(list))
	var failed error
	for index, value := range list {
		inner, err := v.resolve(value)
		failed = errors.Join(failed, err)
		resolved[index] = inner
	}
	return resolved, failed
}

func (v values) resolveObject(object map[string]any) (any, error) {
	resolved := make(map[string]any, len(object))
	var failed error
	for key, value := range object {
		inner, err := v.resolve(value)
		failed = errors.Join(failed, err)
		resolved[key] = inner
	}
	return resolved, failed
}

func (v values) join(parts []any) (any, error) {
	list, err := v.resolveList(parts)
	var text strings.Builder
	for _, part := range list.([]any) {
		fmt.Fprint(&text, part)
	}
	return text.String(), err
}

func (v values) repeat(parts []any) (any, error) {
	if len(parts) != 2 {
		return nil, fmt.Errorf("$repeat takes a text and a number, not %v", parts)
	}
	text, err := v.resolve(parts[0])
	times, ok := parts[1].(float64)
	if !ok || err != nil {
		return nil, errors.Join(err, fmt.Errorf("$repeat takes a text and a number, not %v", parts))
	}
	return strings.Repeat(fmt.Sprint(text), int(times)), nil
}
