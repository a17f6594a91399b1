package memory

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

var (
	writeTool = &memoryv1.Tool{
		Id: "ironclaw.memory.write", Description: "Stores a fact.", Prompt: "Use it when asked.\n", Writes: true,
		InputSchemaJson:  `{"$schema": "s", "type": "object", "$id": "x", "properties": {"b": {}, "a": {"$id": 1}}}`,
		OutputSchemaJson: `{"type": "object"}`,
	}
	treeTool = &memoryv1.Tool{
		Id: "ironclaw.memory.tree", Description: "Lists.", InputSchemaJson: `{}`, OutputSchemaJson: `{"type": "array"}`,
	}
	catalogue = &Catalogue{Tools: []*memoryv1.Tool{writeTool, treeTool}, Guidance: "See `ironclaw.memory.write`.\n"}
)

func TestNamesGoOutLegalAndComeBackWhole(t *testing.T) {
	for _, tool := range []string{"write", "read", "search", "tree", "profile_set"} {
		id := "ironclaw.memory." + tool
		name := FunctionName(id)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(name) || ToolID(name) != id || ToolID(id) != id {
			t.Errorf("%s, %s, %s", id, name, ToolID(name))
		}
	}
	for _, foreign := range []string{"weather", "", "ironclaw.memory", "memory_write"} {
		if ToolID(foreign) != foreign {
			t.Errorf("%q became %q", foreign, ToolID(foreign))
		}
	}
}

// asJSON holds definitions to the text that goes to a model API.
func asJSON(t *testing.T, definitions any, want string) {
	t.Helper()
	got, err := json.Marshal(definitions)
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
}

func TestDefinitionsAreWhatTheAPIsTake(t *testing.T) {
	one := &Catalogue{Tools: []*memoryv1.Tool{writeTool}}
	schema := `{"type":"object","properties":{"b":{},"a":{"$id":1}}}` // in the service's order, less where it is from
	function := `"name":"ironclaw_memory_write","description":"Stores a fact.","parameters":` + schema + `,"strict":false`
	asJSON(t, one.OpenAIChat(), `[{"type":"function","function":{`+function+`}}]`)
	asJSON(t, one.OpenAIResponses(), `[{"type":"function",`+function+`}]`)
	long := `"description":"Stores a fact.\n\nUse it when asked."`
	asJSON(t, one.Anthropic(), `[{"name":"ironclaw_memory_write",`+long+`,"input_schema":`+schema+`}]`)
	asJSON(t, one.MCP(DottedNames), `[{"name":"ironclaw.memory.write",`+long+`,"inputSchema":`+schema+
		`,"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"openWorldHint":false}}]`)
	tree := &Catalogue{Tools: []*memoryv1.Tool{treeTool}}
	asJSON(t, tree.Anthropic(), `[{"name":"ironclaw_memory_tree","description":"Lists.","input_schema":{}}]`)
	asJSON(t, tree.MCP(MappedNames), `[{"name":"ironclaw_memory_tree","description":"Lists.","inputSchema":{},`+
		`"annotations":{"readOnlyHint":true,"openWorldHint":false}}]`)
}

func TestTextsNameTheToolsAsTheModelSeesThem(t *testing.T) {
	text := "Call `ironclaw.memory.profile_set`."
	tool := &memoryv1.Tool{
		Id: "ironclaw.memory.write", Description: text, Prompt: text, InputSchemaJson: `{"description": "` + text + `"}`,
		OutputSchemaJson: `{"type": "object", "description": "` + text + `"}`,
	}
	one := &Catalogue{Tools: []*memoryv1.Tool{tool}, Guidance: text}
	for _, definitions := range []any{
		one.OpenAIChat(), one.OpenAIResponses(), one.Anthropic(), one.MCP(MappedNames),
		one.SystemPrompt(MappedNames), one.SystemPromptWithTools(MappedNames),
	} {
		got, err := json.Marshal(definitions)
		if err != nil || !strings.Contains(string(got), "ironclaw_memory_profile_set") || strings.Contains(string(got), "ironclaw.memory.") {
			t.Errorf("%v %s", err, got)
		}
	}
	if !strings.Contains(one.MCP(DottedNames)[0].Description, text) {
		t.Error("dotted names were mapped")
	}
}

func TestTheSystemPromptHasTheGuidanceAndOnDemandThePrompts(t *testing.T) {
	for got, want := range map[string]string{
		catalogue.SystemPrompt(MappedNames):          "See `ironclaw_memory_write`.",
		catalogue.SystemPrompt(DottedNames):          "See `ironclaw.memory.write`.",
		catalogue.SystemPromptWithTools(MappedNames): "See `ironclaw_memory_write`.\n\nUse it when asked.",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestASchemaThatIsNoObjectStaysAsItIs(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"a": }`, `{"a"`, "true"} {
		if got := schema(text); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestToolsAreListedAndCalled(t *testing.T) {
	script, client, _ := connect(t)
	script.then(&memoryv1.ListToolsResponse{Tools: catalogue.Tools, Guidance: "g"})
	script.then(&memoryv1.InvokeToolResponse{OutputJson: `{"a":1}`})
	script.then(&memoryv1.InvokeToolResponse{Error: &memoryv1.ToolError{Kind: "input", Reason: "INVALID_PATH", Message: "No."}})
	script.then(refusal{code: codes.PermissionDenied, reason: ReasonScopeForbidden}.error())
	listed, err := client.ListTools(t.Context())
	if err != nil || len(listed.Tools) != 2 || listed.Guidance != "g" {
		t.Error(listed, err)
	}
	done, err := client.Invoke(t.Context(), "ironclaw_memory_read", "")
	if err != nil || done.ForModel() != `{"a":1}` || done.GetError() != nil {
		t.Error(done, err)
	}
	failed, err := client.Invoke(t.Context(), "ironclaw.memory.read", `{"path": "/"}`)
	var told any
	if err != nil || json.Unmarshal([]byte(failed.ForModel()), &told) != nil {
		t.Fatal(failed, err)
	}
	want := map[string]any{"error": map[string]any{"kind": "input", "reason": "INVALID_PATH", "message": "No."}}
	if !reflect.DeepEqual(told, want) || failed.GetError().GetReason() != "INVALID_PATH" {
		t.Error(told)
	}
	if _, err := client.Invoke(t.Context(), "ironclaw.memory.read", ""); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}
