// Agentloop is an agent's turn with memory, with the model's side written down instead of asked for:
//
//	go run ./examples/agentloop 127.0.0.1:50051
//
// The address may also stand in IRONCLAW_MEMORY_TARGET. Put calls of your model API in place of scriptedModel: send it
// the tools and the messages, and handle what it answers as here.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/ironclaw-memory/clients/go/memory"
	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

func main() {
	target := "127.0.0.1:50051"
	if named := os.Getenv("IRONCLAW_MEMORY_TARGET"); named != "" {
		target = named
	}
	if len(os.Args) > 1 {
		target = os.Args[1]
	}
	if err := converse(context.Background(), target, "I can't eat peanuts. What did I tell you about food?", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// message is one of a chat, as model APIs have it.
type message struct {
	Role    string
	Content string
	Calls   []toolCall // what the model wants to be done
}

// toolCall is a model's call of a tool, with the arguments as the text that it wrote.
type toolCall struct{ Name, Arguments string }

// model answers a chat; tools are what it may call.
type model func(tools []memory.OpenAIChatTool, chat []message) message

// scriptedModel plays a model: it calls two tools, and then answers with what the second one found.
func scriptedModel(_ []memory.OpenAIChatTool, chat []message) message {
	last := chat[len(chat)-1]
	if last.Role == "user" {
		return message{Role: "assistant", Calls: []toolCall{
			{"ironclaw_memory_write", `{"target": "memory", "content": "User is allergic to peanuts."}`},
			{"ironclaw_memory_search", `{"query": "allergic food"}`},
		}}
	}
	var found struct{ Results []struct{ Content string } }
	if err := json.Unmarshal([]byte(last.Content), &found); err != nil || len(found.Results) == 0 {
		return message{Role: "assistant", Content: "I remember nothing."}
	}
	return message{Role: "assistant", Content: "I remember: " + found.Results[0].Content}
}

// converse holds one turn: what memory adds to the prompt, the model with its tools, and the record of the exchange.
func converse(ctx context.Context, target, question string, output io.Writer) error {
	scope := memory.Scope{Tenant: "example", User: "ann", Thread: "chat-1"}
	client, err := memory.New(target, scope)
	if err != nil {
		return err
	}
	defer client.Close()
	catalogue, err := client.ListTools(ctx)
	if err != nil {
		return err
	}
	remembered, err := client.RetrieveContext(ctx, question)
	if err != nil {
		return err
	}
	system := catalogue.SystemPromptWithTools(memory.MappedNames) + "\n\n" + remembered.Block
	chat := []message{{Role: "system", Content: system}, {Role: "user", Content: question}}
	fmt.Fprintln(output, "memory:", len(remembered.Snippets), "snippets for the prompt")
	fmt.Fprintln(output, "user:", question)
	chat, err = answer(ctx, client, scriptedModel, catalogue.OpenAIChat(), chat, output)
	if err != nil {
		return err
	}
	return record(ctx, client, chat, output)
}

// answer asks the model until it calls no more tools. What the model did wrong goes back to it in words; an outage is an
// error, for the host to handle.
func answer(
	ctx context.Context, client *memory.Client, ask model, tools []memory.OpenAIChatTool, chat []message, output io.Writer,
) ([]message, error) {
	for {
		reply := ask(tools, chat)
		chat = append(chat, reply)
		if len(reply.Calls) == 0 {
			fmt.Fprintln(output, "assistant:", reply.Content)
			return chat, nil
		}
		for _, call := range reply.Calls {
			result, err := client.Invoke(ctx, call.Name, call.Arguments)
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(output, "tool:", call.Name, result.ForModel())
			chat = append(chat, message{Role: "tool", Content: result.ForModel()})
		}
	}
}

// record stores what was said in the thread; what the tools said is left out.
func record(ctx context.Context, client *memory.Client, chat []message, output io.Writer) error {
	roles := map[string]memoryv1.MessageRole{
		"user": memoryv1.MessageRole_MESSAGE_ROLE_USER, "assistant": memoryv1.MessageRole_MESSAGE_ROLE_ASSISTANT,
	}
	var said []*memoryv1.InteractionMessage
	for _, message := range chat {
		if role, ok := roles[message.Role]; ok && message.Content != "" {
			said = append(said, &memoryv1.InteractionMessage{Role: role, Content: message.Content})
		}
	}
	recorded, err := client.RecordInteraction(ctx, fmt.Sprintf("run-%d", time.Now().UnixNano()), said)
	if err != nil {
		return err
	}
	fmt.Fprintln(output, "recorded:", recorded.Recorded, len(said), "messages")
	return nil
}
