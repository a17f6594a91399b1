package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ironclaw-memory/clients/go/internal/servertest"
)

// TestTheLoopRemembers runs two turns against the real service; the second finds what the first one recorded.
func TestTheLoopRemembers(t *testing.T) {
	server, err := servertest.Start(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for _, remembered := range []string{"memory: 0 snippets", "memory: 2 snippets"} {
		var output strings.Builder
		if err := converse(t.Context(), server.Target, "Peanuts?", &output); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			remembered, "user: Peanuts?\n", "tool: ironclaw_memory_write {", `"path": "MEMORY.md"`, "tool: ironclaw_memory_search {",
			"assistant: I remember: User is allergic to peanuts.\n", "recorded: true 2 messages\n",
		} {
			if !strings.Contains(output.String(), want) {
				t.Errorf("no %q in\n%s", want, output.String())
			}
		}
	}
}
