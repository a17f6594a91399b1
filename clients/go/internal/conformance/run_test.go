package conformance

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/ironclaw-memory/clients/go/memory"
	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// script answers from a list instead of over the wire, and keeps what it was asked.
type script struct {
	answers []any // an error, a *memoryv1.ToolError, or JSON text
	scopes  []memory.Scope
	asked   []string
}

func (s *script) next(scope memory.Scope, asked string) any {
	s.scopes, s.asked = append(s.scopes, scope), append(s.asked, asked)
	if len(s.answers) == 0 {
		return errors.New("the script has no answer left")
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer
}

func (s *script) invoke(scope memory.Scope, tool, arguments string) (memory.ToolResult, error) {
	answer := &memoryv1.InvokeToolResponse{}
	switch next := s.next(scope, tool+" "+arguments).(type) {
	case error:
		return memory.ToolResult{}, next
	case *memoryv1.ToolError:
		answer.Error = next
	case string:
		answer.OutputJson = next
	}
	return memory.ToolResult{InvokeToolResponse: answer}, nil
}

func (s *script) call(scope memory.Scope, rpc string, request []byte) ([]byte, error) {
	switch next := s.next(scope, rpc+" "+string(request)).(type) {
	case error:
		return nil, next
	case string:
		return []byte(next), nil
	}
	return nil, errors.New("an RPC can't answer so")
}

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// play runs steps against scripted answers.
func play(t *testing.T, steps string, answers ...any) (*script, error) {
	t.Helper()
	suite, err := read([]byte(`{"suite": "s", "scenarios": [{"name": "n", "thread": "t1", "steps": ` + steps + `}]}`))
	if err != nil {
		return nil, err
	}
	script := &script{answers: answers}
	return script, runScenario(suite.Scenarios[0], "t", script, func() time.Time { return noon })
}

var (
	missed   = &memory.Error{Code: codes.NotFound, Reason: memory.ReasonNotFound}
	rejected = &memoryv1.ToolError{Kind: "input", Reason: "NOT_FOUND"}
)

func TestAStepThatFailsFailsTheScenario(t *testing.T) {
	for name, test := range map[string]struct {
		step   string
		answer any
	}{
		"other output":                      {`"tool": "r", "arguments": {}, "output": {"content": "x"}`, `{"content": "y"}`},
		"error instead":                     {`"tool": "r", "arguments": {}, "output": {"content": "x"}`, rejected},
		"error where success goes unsaid":   {`"tool": "r", "arguments": {}`, rejected},
		"output that is no JSON":            {`"tool": "r", "arguments": {}`, `{`},
		"the call itself fails":             {`"tool": "r", "arguments": {}`, missed},
		"the call fails where an error is":  {`"tool": "r", "arguments": {}, "error": {"reason": "NOT_FOUND"}`, missed},
		"output instead of an error":        {`"tool": "r", "arguments": {}, "error": {"kind": "input"}`, `{}`},
		"other kind":                        {`"tool": "r", "arguments": {}, "error": {"kind": "operation"}`, rejected},
		"other reason":                      {`"tool": "r", "arguments": {}, "error": {"kind": "input", "reason": "A"}`, rejected},
		"tree must be equal":                {`"tool": "ironclaw.memory.tree", "arguments": {}, "output": ["a"]`, `["a", "b"]`},
		"other response":                    {`"rpc": "p.S/M", "request": {}, "response": {"a": 1}`, `{"a": 2}`},
		"status instead of a response":      {`"rpc": "p.S/M", "request": {}, "response": {}`, missed},
		"status where success goes unsaid":  {`"rpc": "p.S/M", "request": {}`, missed},
		"response instead of a status":      {`"rpc": "p.S/M", "request": {}, "status": "NOT_FOUND", "reason": "NOT_FOUND"`, `{}`},
		"other status":                      {`"rpc": "p.S/M", "request": {}, "status": "ABORTED", "reason": "NOT_FOUND"`, missed},
		"other status reason":               {`"rpc": "p.S/M", "request": {}, "status": "NOT_FOUND", "reason": "A"`, missed},
		"reason where none is expected":     {`"rpc": "p.S/M", "request": {}, "status": "NOT_FOUND"`, missed},
		"a failure that is no answer":       {`"rpc": "p.S/M", "request": {}, "status": "UNKNOWN"`, errors.New("no such method")},
		"nothing to save":                   {`"rpc": "p.S/M", "request": {}, "save": {"lease": "id"}`, `{}`},
		"a placeholder that nothing saved":  {`"rpc": "p.S/M", "request": {"a": "${lease}"}`, `{}`},
		"an axis that nobody knows":         {`"tool": "r", "arguments": {}, "as": {"usr": "bob"}`, `{}`},
		"an empty axis":                     {`"tool": "r", "arguments": {}, "as": {"user": ""}`, `{}`},
		"neither tool nor RPC":              {`"arguments": {}`, `{}`},
		"both tool and RPC":                 {`"tool": "r", "rpc": "p.S/M"`, `{}`},
		"an output that isn't there":        {`"tool": "r", "arguments": {}, "output": {"a": 0}`, `{}`},
		"a long text that isn't understood": {`"tool": "r", "arguments": {"a": {"$repeat": ["x"]}}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := play(t, `[{"tool": "r", "arguments": {}}, {`+test.step+`}]`, `{}`, test.answer)
			if err == nil || !strings.HasPrefix(err.Error(), "step 2 (") {
				t.Error(err)
			}
		})
	}
}

func TestAKeyThatNobodyKnowsIsRefused(t *testing.T) {
	if _, err := play(t, `[{"tool": "r", "arguments": {}, "ouput": {"content": "x"}}]`, `{"content": "x"}`); err == nil {
		t.Error("a misspelt key was taken")
	}
}

func TestStepsThatHoldPass(t *testing.T) {
	script, err := play(t, `[
		{"tool": "ironclaw.memory.tree", "arguments": {"path": {"$join": ["x", {"$repeat": ["yz", 3]}]}}, "output": ["a"]},
		{"tool": "r", "arguments": {"q": "<${today:Asia/Shanghai}>"}, "error": {"kind": "input", "reason": {"$in": ["A", "NOT_FOUND"]}}},
		{"rpc": "p.S/M", "request": {}, "save": {"lease": "id"}, "response": {"id": "7", "gone": 0}},
		{"rpc": "p.S/N", "request": {"lease": "${lease}"}, "status": "NOT_FOUND", "reason": "NOT_FOUND"}
	]`, `["a"]`, rejected, `{"id": "7"}`, missed)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`ironclaw.memory.tree {"path":"xyzyzyz"}`, `r {"q":"<2026-12-01>"}`, `p.S/M {}`, `p.S/N {"lease":"7"}`,
	}
	if !reflect.DeepEqual(script.asked, want) {
		t.Errorf("%q", script.asked)
	}
}

func TestAStepHasItsOwnScope(t *testing.T) {
	script, err := play(t, `[
		{"tool": "r", "arguments": {}, "as": {"tenant": "other", "user": null, "agent": "a"}},
		{"tool": "r", "arguments": {}, "as": {"thread": null, "project": "p"}},
		{"tool": "r", "arguments": {}}
	]`, `{}`, `{}`, `{}`)
	want := []memory.Scope{
		{Tenant: "t-other", Agent: "a", Thread: "t1"}, {Tenant: "t", User: "alice", Project: "p"},
		{Tenant: "t", User: "alice", Thread: "t1"},
	}
	if err != nil || !reflect.DeepEqual(script.scopes, want) {
		t.Errorf("%v, %v", script.scopes, err)
	}
}

func TestMidnightRepeatsTheScenario(t *testing.T) {
	one := scenario{Steps: []step{{Tool: "r", Output: json.RawMessage(`{"day": "${today:UTC}"}`)}}}
	midnight := []time.Time{noon, noon, noon.AddDate(0, 0, 1)}
	clock := func() time.Time {
		now := midnight[0]
		midnight = midnight[min(1, len(midnight)-1):]
		return now
	}
	next := &script{answers: []any{`{"day": "2026-12-02"}`, `{"day": "2026-12-02"}`}}
	if err := runScenario(one, "t", next, clock); err != nil {
		t.Error(err)
	}
	if next.scopes[0].Tenant != "t" || next.scopes[1].Tenant != "t-next-day" {
		t.Errorf("%v", next.scopes)
	}
	same := &script{answers: []any{`{"day": "2026-12-02"}`, `{"day": "2026-12-01"}`}}
	if err := runScenario(one, "t", same, func() time.Time { return noon }); err == nil || len(same.asked) != 1 {
		t.Error("a mismatch on one and the same day was run again")
	}
}
