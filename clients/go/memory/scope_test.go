package memory

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// sent returns what the metadata of one call have under our keys.
func sent(t *testing.T, scope Scope, requestID, correlationID string) map[string]string {
	t.Helper()
	ctx, err := outgoing(t.Context(), scope, requestID, correlationID)
	if err != nil {
		t.Fatal(err)
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	values := map[string]string{}
	for key, all := range md {
		values[key] = strings.Join(all, "|")
	}
	return values
}

func TestOnlyWhatIsGivenTravels(t *testing.T) {
	want := map[string]string{"x-ironclaw-tenant-id": "acme", "x-ironclaw-user-id": "ann"}
	if got := sent(t, Scope{Tenant: "acme", User: "ann"}, "", ""); !maps.Equal(got, want) {
		t.Error(got)
	}
}

func TestEveryPartHasItsKey(t *testing.T) {
	want := map[string]string{
		"x-ironclaw-tenant-id": "t", "x-ironclaw-user-id": "u", "x-ironclaw-agent-id": "a", "x-ironclaw-project-id": "p",
		"x-ironclaw-thread-id": "h", "x-ironclaw-request-id": "r", "x-ironclaw-correlation-id": "c",
	}
	if got := sent(t, Scope{"t", "u", "a", "p", "h"}, "r", "c"); !maps.Equal(got, want) {
		t.Error(got)
	}
}

func TestWhatHeadersWouldChangeTravelsAsBytes(t *testing.T) {
	for _, value := range []string{"王芳", "é", " ann", "ann ", "a\tb", "a\nb", "\x7f", "\u00a0", " "} {
		got := sent(t, Scope{User: value}, "", "")
		if !maps.Equal(got, map[string]string{"x-ironclaw-user-id-bin": value}) {
			t.Errorf("%q: %v", value, got)
		}
	}
	for _, value := range []string{"ann", "a b", "~!#", "%E7"} {
		got := sent(t, Scope{User: value}, "", "")
		if !maps.Equal(got, map[string]string{"x-ironclaw-user-id": value}) {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestWhatIsNoTextIsRefusedBeforeAnythingIsSent(t *testing.T) {
	script, client, _ := connect(t)
	_, err := client.Read(t.Context(), "a", InScope(Scope{Tenant: "acme", User: "\xff"}))
	if err == nil || len(script.calls()) != 0 {
		t.Error(err)
	}
}

func TestACallersMetadataPassButForTheScope(t *testing.T) {
	script, client, _ := connect(t, WithToken("key"))
	script.then(&memoryv1.ReadResponse{})
	ctx := metadata.AppendToOutgoingContext(t.Context(),
		"x-trace", "7", "x-ironclaw-agent-id", "admin", "x-ironclaw-user-id-bin", "bob", "authorization", "Bearer other")
	if _, err := client.Read(ctx, "MEMORY.md"); err != nil {
		t.Fatal(err)
	}
	call := script.calls()[0]
	for key, want := range map[string][]string{
		"x-trace": {"7"}, "x-ironclaw-agent-id": nil, "x-ironclaw-user-id-bin": nil, "x-ironclaw-user-id": {"ann"},
		"authorization": {"Bearer key"},
	} {
		if got := call.metadata.Get(key); !slices.Equal(got, want) {
			t.Errorf("%s is %q", key, got)
		}
	}
	if agent := call.value("user-agent"); !strings.HasPrefix(agent, "ironclaw-memory-go/"+Version+" ") {
		t.Errorf("the user agent is %q", agent)
	}
}

func TestEachCallCanHaveItsOwnScopeAndCorrelationID(t *testing.T) {
	script, client, _ := connect(t)
	script.then(&memoryv1.ReadResponse{}).then(&memoryv1.ReadResponse{}).then(&memoryv1.SearchResponse{})
	ctx := t.Context()
	_, _ = client.Read(ctx, "a", InScope(Scope{Tenant: "acme", User: "王芳"}), CorrelationID("turn-9"))
	_, _ = client.Read(ctx, "a")
	coder := client.WithScope(client.Scope().WithAgent("coder").WithThread("t1"))
	_, _ = coder.Search(ctx, "a")
	calls := script.calls()
	for n, want := range []map[string]string{
		{"x-ironclaw-user-id-bin": "王芳", "x-ironclaw-user-id": "", "x-ironclaw-correlation-id": "turn-9"},
		{"x-ironclaw-user-id": "ann", "x-ironclaw-correlation-id": "", "x-ironclaw-agent-id": ""},
		{"x-ironclaw-user-id": "ann", "x-ironclaw-agent-id": "coder", "x-ironclaw-thread-id": "t1"},
	} {
		for key, value := range want {
			if got := calls[n].value(key); got != value {
				t.Errorf("call %d: %s is %q", n, key, got)
			}
		}
	}
	if client.Scope() != (Scope{Tenant: "acme", User: "ann"}) {
		t.Error("WithScope changed the client that it was called on")
	}
}
