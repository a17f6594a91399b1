package conformance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ironclaw-memory/clients/go/internal/servertest"
	"github.com/ironclaw-memory/clients/go/memory"
)

func vectors(t *testing.T) ([]suite, string) {
	t.Helper()
	root, err := servertest.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "tests", "conformance", "vectors")
	suites, err := load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return suites, folder
}

// TestVectors runs every scenario as a test of its own name, against one server.
func TestVectors(t *testing.T) {
	suites, _ := vectors(t)
	server, err := servertest.Start(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := memory.New(server.Target, memory.Scope{}, memory.WithTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	for _, suite := range suites {
		for index, scenario := range suite.Scenarios {
			t.Run(suite.Suite+"/"+scenario.Name, func(t *testing.T) {
				tenant := fmt.Sprintf("go-%s-%d", suite.Suite, index)
				if err := runScenario(scenario, tenant, overClient{t.Context(), client}, time.Now); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestNoScenarioIsLeftOut counts the scenarios in the files' text, apart from the reading above.
func TestNoScenarioIsLeftOut(t *testing.T) {
	suites, folder := vectors(t)
	var names []string
	for _, suite := range suites {
		for _, scenario := range suite.Scenarios {
			names = append(names, suite.Suite+"/"+scenario.Name)
			if len(scenario.Steps) == 0 {
				t.Errorf("%s has no steps", scenario.Name)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != len(suites) || len(files) < 11 {
		t.Errorf("%d suites of %d files, %v", len(suites), len(files), err)
	}
	written := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		written += bytes.Count(text, []byte(`"steps":`))
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != written || len(names) != written {
		t.Errorf("%d scenarios of %d names, but the files hold %d", len(names), len(unique), written)
	}
}
