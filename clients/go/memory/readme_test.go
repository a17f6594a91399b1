package memory_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ironclaw-memory/clients/go/memory"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parsed returns the syntax of a file of this folder.
func parsed(t *testing.T, file string) (*token.FileSet, *ast.File) {
	t.Helper()
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return positions, syntax
}

// shown returns an example as the README shows it: its body, and what it prints.
func shown(t *testing.T, function *ast.FuncDecl, positions *token.FileSet, source string) string {
	t.Helper()
	from, to := positions.Position(function.Body.Lbrace).Offset+1, positions.Position(function.Body.Rbrace).Offset
	body, output, prints := strings.Cut(source[from:to], "// Output:\n")
	code, err := format.Source([]byte(strings.ReplaceAll(body, "target()", `"127.0.0.1:50051"`)))
	if err != nil {
		t.Fatal(err)
	}
	text := "```go\n" + regexp.MustCompile(`(?m)^\t`).ReplaceAllString(strings.Trim(string(code), "\n\t"), "") + "\n```\n"
	if prints {
		text += "\nprints\n\n```text\n" + regexp.MustCompile(`(?m)^\t// `).ReplaceAllString(strings.TrimRight(output, "\n\t"), "") + "\n```\n"
	}
	return text
}

func TestTheReadmeShowsExamplesThatRun(t *testing.T) {
	text, blocks := readme(t), 0
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	positions, syntax := parsed(t, "example_test.go")
	for _, declaration := range syntax.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Name.Name == "ExampleClient_ListVersions" {
			continue
		}
		blocks++
		if want := shown(t, function, positions, string(source)); !strings.Contains(text, want) {
			t.Errorf("the README lacks %s:\n%s", function.Name.Name, want)
		}
	}
	if found := strings.Count(text, "```go\n"); found != blocks {
		t.Errorf("the README has %d pieces of Go, of which %d are examples", found, blocks)
	}
}

func TestTheTableOfErrorsIsTheCodes(t *testing.T) {
	groups := map[string]error{
		"ErrInvalidRequest": memory.ErrInvalidRequest, "ErrUnsafeText": memory.ErrUnsafeText,
		"ErrDocumentState": memory.ErrDocumentState, "ErrConflict": memory.ErrConflict,
		"ErrUnauthenticated": memory.ErrUnauthenticated, "ErrForbidden": memory.ErrForbidden,
		"ErrStorageExhausted": memory.ErrStorageExhausted, "ErrUnavailable": memory.ErrUnavailable,
	}
	rows := regexp.MustCompile("(?m)^\\| `?(Err\\w+|none|context)\\b[^|]*\\| ([^|]+) \\|$").FindAllStringSubmatch(readme(t), -1)
	listed := 0
	for _, row := range rows {
		for _, found := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(row[2], -1) {
			listed++
			failure := &memory.Error{Reason: memory.Reason(found[1])}
			for name, group := range groups {
				if failure.Is(group) != (name == row[1]) {
					t.Errorf("%s stands in the row of %s, and %s", found[1], row[1], name)
				}
			}
		}
	}
	if len(rows) != len(groups)+2 || listed != 39 {
		t.Errorf("%d reasons in %d rows", listed, len(rows))
	}
}

func TestEveryMethodAndOptionIsInTheReadme(t *testing.T) {
	rows := strings.Join(regexp.MustCompile("(?m)^\\| `.*$").FindAllString(readme(t), -1), "\n")
	for method := range reflect.TypeFor[*memory.Client]().NumMethod() {
		name := reflect.TypeFor[*memory.Client]().Method(method).Name
		known := slices.Contains([]string{"Close", "Conn", "Scope", "WithScope"}, name)
		if strings.Contains(rows, "`"+name+"`") == known {
			t.Errorf("the method %s", name)
		}
	}
	for _, file := range []string{"arguments.go", "call_options.go"} {
		_, syntax := parsed(t, file)
		for _, declaration := range syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.IsExported() && !strings.Contains(rows, "`"+function.Name.Name+"`") {
				t.Errorf("the option %s", function.Name.Name)
			}
		}
	}
}
