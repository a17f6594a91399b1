package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// OpenAIFunction is a function as OpenAI's APIs define it. Strict is off: it would make every optional argument required.
type OpenAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// OpenAIChatTool is a tool of OpenAI's Chat Completions API.
type OpenAIChatTool struct {
	Type     string         `json:"type"`
	Function OpenAIFunction `json:"function"`
}

// OpenAIResponsesTool is a tool of OpenAI's Responses API.
type OpenAIResponsesTool struct {
	Type string `json:"type"`
	OpenAIFunction
}

// AnthropicTool is a tool of Anthropic's Messages API.
type AnthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// MCPTool is a tool as the Model Context Protocol's tools/list has it.
type MCPTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  MCPAnnotations  `json:"annotations"`
}

// MCPAnnotations tell a host what a tool does.
type MCPAnnotations struct {
	ReadOnlyHint  bool `json:"readOnlyHint"`
	OpenWorldHint bool `json:"openWorldHint"`
}

// OpenAIChat returns the tools for the Chat Completions API. A description there may have at most 1,024 characters, so it
// is the tool's one sentence; [Catalogue.SystemPromptWithTools] has the rest.
func (c *Catalogue) OpenAIChat() []OpenAIChatTool {
	return each(c.Tools, func(tool *memoryv1.Tool) OpenAIChatTool {
		return OpenAIChatTool{Type: "function", Function: openAIFunction(tool)}
	})
}

// OpenAIResponses returns the tools for the Responses API; see [Catalogue.OpenAIChat].
func (c *Catalogue) OpenAIResponses() []OpenAIResponsesTool {
	return each(c.Tools, func(tool *memoryv1.Tool) OpenAIResponsesTool {
		return OpenAIResponsesTool{Type: "function", OpenAIFunction: openAIFunction(tool)}
	})
}

func openAIFunction(tool *memoryv1.Tool) OpenAIFunction {
	return OpenAIFunction{
		Name:        FunctionName(tool.GetId()),
		Description: MappedNames.in(tool.GetDescription()),
		Parameters:  schema(MappedNames.in(tool.GetInputSchemaJson())),
	}
}

// Anthropic returns the tools for the Messages API; a description holds the tool's prompt too.
func (c *Catalogue) Anthropic() []AnthropicTool {
	return each(c.Tools, func(tool *memoryv1.Tool) AnthropicTool {
		return AnthropicTool{
			Name:        FunctionName(tool.GetId()),
			Description: MappedNames.in(longDescription(tool)),
			InputSchema: schema(MappedNames.in(tool.GetInputSchemaJson())),
		}
	})
}

// MCP returns the tools for the Model Context Protocol, which allows dots; [MappedNames] are for hosts that hand names to
// a model API as they are. An output schema is only given where it is of an object, as the protocol wants it.
func (c *Catalogue) MCP(names Names) []MCPTool {
	return each(c.Tools, func(tool *memoryv1.Tool) MCPTool {
		definition := MCPTool{
			Name:        names.in(tool.GetId()),
			Description: names.in(longDescription(tool)),
			InputSchema: schema(names.in(tool.GetInputSchemaJson())),
			Annotations: MCPAnnotations{ReadOnlyHint: !tool.GetWrites()},
		}
		if output := schema(names.in(tool.GetOutputSchemaJson())); isOfObject(output) {
			definition.OutputSchema = output
		}
		return definition
	})
}

func each[T any](tools []*memoryv1.Tool, define func(*memoryv1.Tool) T) []T {
	definitions := make([]T, 0, len(tools))
	for _, tool := range tools {
		definitions = append(definitions, define(tool))
	}
	return definitions
}

func longDescription(tool *memoryv1.Tool) string {
	return strings.TrimSpace(tool.GetDescription() + "\n\n" + tool.GetPrompt())
}

func isOfObject(schema json.RawMessage) bool {
	var found struct{ Type any }
	return json.Unmarshal(schema, &found) == nil && found.Type == "object"
}

// schema returns a JSON Schema without $schema and $id, which only say where it is from. The order of the rest stays: a
// model reads the arguments in the order that the service gives them. A text that is no object stays as it is.
func schema(text string) json.RawMessage {
	kept, err := withoutKeys(text, "$schema", "$id")
	if err != nil {
		return json.RawMessage(text)
	}
	return kept
}

func withoutKeys(object string, dropped ...string) (json.RawMessage, error) {
	decoder := json.NewDecoder(strings.NewReader(object))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var members [][]byte
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if name := key.(string); !slices.Contains(dropped, name) {
			quoted, _ := json.Marshal(name) // a text always can be
			members = append(members, append(append(quoted, ':'), value...))
		}
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return nil, err
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}
