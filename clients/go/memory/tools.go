package memory

import (
	"context"
	"encoding/json"
	"strings"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// Tool ids have dots, which the OpenAI and Anthropic APIs refuse in a function's name. So a definition for them has
// underscores, as has every text of the catalogue that speaks of a tool, since a model calls what it reads.
const (
	dottedPrefix = "ironclaw.memory."
	mappedPrefix = "ironclaw_memory_"
)

// Names tells how tools are called in a definition or a text.
type Names int

const (
	// MappedNames have underscores, as every model API takes them: ironclaw_memory_write.
	MappedNames Names = iota
	// DottedNames are the tools' ids: ironclaw.memory.write.
	DottedNames
)

func (n Names) in(text string) string {
	if n == DottedNames {
		return text
	}
	return strings.ReplaceAll(text, dottedPrefix, mappedPrefix)
}

// FunctionName returns a tool's id as a name that every model API takes.
func FunctionName(toolID string) string {
	return strings.ReplaceAll(toolID, ".", "_")
}

// ToolID returns the tool's id for a name in either form; a name that is neither stays as it is, for the service to
// refuse. Only the prefix is mapped back, so the underscore of profile_set stays one.
func ToolID(name string) string {
	if tool, ok := strings.CutPrefix(name, mappedPrefix); ok {
		return dottedPrefix + tool
	}
	return name
}

// Catalogue is what a model can be told of the service. Its definitions are ready to be put as JSON.
type Catalogue struct {
	// Tools are write, read, search, tree and profile_set.
	Tools []*memoryv1.Tool
	// Guidance is text for the system prompt: what is worth remembering, and how to put it.
	Guidance string
}

// ListTools returns the five tools and the guidance text.
func (c *Client) ListTools(ctx context.Context, options ...CallOption) (*Catalogue, error) {
	answer, err := send(ctx, c.memory.ListTools, &memoryv1.ListToolsRequest{}, options, onCall)
	if err != nil {
		return nil, err
	}
	return &Catalogue{Tools: answer.GetTools(), Guidance: answer.GetGuidance()}, nil
}

// SystemPrompt returns the guidance for a system prompt.
func (c *Catalogue) SystemPrompt(names Names) string {
	return names.in(strings.TrimSpace(c.Guidance))
}

// SystemPromptWithTools returns the guidance and each tool's prompt, for APIs whose descriptions are too short for them,
// as OpenAI's are.
func (c *Catalogue) SystemPromptWithTools(names Names) string {
	text := strings.TrimSpace(c.Guidance)
	for _, tool := range c.Tools {
		text = strings.TrimSpace(text + "\n\n" + strings.TrimSpace(tool.GetPrompt()))
	}
	return names.in(text)
}

// Invoke runs a model's tool call. The name is the tool's id or its name in a model API, the arguments are JSON as the
// model wrote it; empty counts as {}. What the model can be told about a failure is in the result, not an error.
func (c *Client) Invoke(
	ctx context.Context, name, argumentsJSON string, options ...CallOption,
) (ToolResult, error) {
	request := &memoryv1.InvokeToolRequest{ToolId: ToolID(name), ArgumentsJson: argumentsJSON}
	answer, err := send(ctx, c.memory.InvokeTool, request, options, onCall)
	return ToolResult{answer}, err
}

// ToolResult is what came of a model's tool call: the output by the tool's schema, or an error for the model.
type ToolResult struct {
	*memoryv1.InvokeToolResponse
}

// ForModel returns the text of the model's tool result: the output, or the error as a JSON object.
func (r ToolResult) ForModel() string {
	failure := r.GetError()
	if failure == nil {
		return r.GetOutputJson()
	}
	facts := map[string]string{
		"kind": failure.GetKind(), "reason": failure.GetReason(), "message": failure.GetMessage(),
	}
	text, _ := json.Marshal(map[string]any{"error": facts}) // texts always can be
	return string(text)
}
