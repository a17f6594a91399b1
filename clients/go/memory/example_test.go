package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/ironclaw-memory/clients/go/memory"
	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

func Example() {
	ctx := context.Background()
	client, err := memory.New(target(), memory.Scope{Tenant: "acme", User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	if _, err := client.Write(ctx, "User drinks green tea.", memory.Target("memory")); err != nil {
		log.Fatal(err)
	}
	if _, err := client.Write(ctx, "- Ship the notes", memory.Target("projects/apollo/todo.md")); err != nil {
		log.Fatal(err)
	}

	found, err := client.Search(ctx, "what does the user drink?")
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Results {
		fmt.Println(hit.Path, strings.TrimSpace(hit.Content))
	}

	_, err = client.Write(ctx, "", memory.Target("memory"), memory.Patch("green tea", "oolong"))
	if err != nil {
		log.Fatal(err)
	}
	document, err := client.Read(ctx, "MEMORY.md")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(document.Content))

	if _, err := client.Write(ctx, "User lives in Shanghai.", memory.Target("memory")); err != nil {
		log.Fatal(err)
	}
	_, err = client.Write(ctx, "Empty.", memory.Target("memory"), memory.Append(false),
		memory.ExpectedSHA256(document.ContentSha256))
	if errors.Is(err, memory.ReasonContentChanged) {
		fmt.Println("somebody else wrote meanwhile")
	}

	coder := client.WithScope(client.Scope().WithAgent("coder"))
	tree, err := coder.Tree(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(tree.Entries), "documents of the coder's own")
	// Output:
	// MEMORY.md User drinks green tea.
	// User drinks oolong.
	// somebody else wrote meanwhile
	// 0 documents of the coder's own
}

func Example_errors() {
	ctx := context.Background()
	client, err := memory.New(target(), memory.Scope{Tenant: "acme", User: "eve"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_, err = client.Read(ctx, "notes/missing.md")
	fmt.Println(errors.Is(err, memory.ReasonNotFound), errors.Is(err, memory.ErrUnavailable))

	_, err = client.Write(ctx, "Anything.", memory.Target("../escape.md"))
	var failure *memory.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Code, failure.Reason, failure.Kind, failure.FieldViolations[0].Field)
	}
	// Output:
	// true false
	// InvalidArgument INVALID_PATH input target
}

func Example_tools() {
	ctx := context.Background()
	client, err := memory.New(target(), memory.Scope{Tenant: "acme", User: "ida"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	catalogue, err := client.ListTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	tools, err := json.Marshal(catalogue.OpenAIChat()) // for the request to the model API
	if err != nil {
		log.Fatal(err)
	}
	system := catalogue.SystemPromptWithTools(memory.MappedNames)
	fmt.Println(json.Valid(tools), len(system) > 0, catalogue.OpenAIChat()[0].Function.Name)

	// What the model answers: a function's name and its arguments as text.
	result, err := client.Invoke(ctx, "ironclaw_memory_write", `{"target": "memory", "content": "User has a dog."}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.ForModel())

	result, err = client.Invoke(ctx, "ironclaw_memory_read", `{"path": "/etc/passwd"}`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Error.Kind, result.Error.Reason)
	// Output:
	// true true ironclaw_memory_write
	// {"status": "written", "path": "MEMORY.md", "append": true, "content_length": 16}
	// input INVALID_PATH
}

func ExampleClient_WatchEvents() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client, err := memory.New(target(), memory.Scope{Tenant: "acme", User: "uma"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	for message, err := range client.WatchEvents(ctx, memory.Kinds(memoryv1.EventKind_EVENT_KIND_WRITTEN)) {
		if err != nil {
			log.Fatal(err)
		}
		if message.Event != nil {
			fmt.Println(message.Event.Kind, *message.Event.SizeBytes, "bytes")
			break
		}
		// The first message only tells the place: from here on nothing is missed.
		if _, err := client.Write(ctx, "User has a cat.", memory.Target("memory")); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// EVENT_KIND_WRITTEN 16 bytes
}

func ExampleClient_ListVersions() {
	ctx := context.Background()
	client, err := memory.New(target(), memory.Scope{Tenant: "acme", User: "leo"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	for _, plan := range []string{"Stay.", "Go.", "Wait."} {
		if _, err := client.Write(ctx, plan, memory.Target("plan.md"), memory.Append(false)); err != nil {
			log.Fatal(err)
		}
	}
	for version, err := range client.ListVersions(ctx, "plan.md") {
		if err != nil {
			log.Fatal(err)
		}
		content, err := client.ReadVersion(ctx, "plan.md", version.Version)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(version.Version, content.Content)
	}
	// Output:
	// 2 Go.
	// 1 Stay.
}

func ExampleWithTLS() {
	// The authority to trust, and this client's own certificate with its key, for mutual TLS.
	tls, err := memory.LoadTLS("ca.pem", "client.pem", "client-key.pem")
	if err != nil {
		log.Fatal(err)
	}
	client, err := memory.New("memory.internal:50051", memory.Scope{Tenant: "acme", User: "ann"}, memory.WithTLS(tls))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
}
