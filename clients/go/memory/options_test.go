package memory

import (
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// TestArgumentsAreSentAsGiven holds each request to what its options say and nothing else: what isn't given isn't sent,
// and a zero that is given is.
func TestArgumentsAreSentAsGiven(t *testing.T) {
	ctx := t.Context()
	metadata := Metadata(map[string]any{"tags": []string{"a"}, "read_only": true, "schema": nil})
	report := &memoryv1.CurationReport{Kept: 2}
	said := []*memoryv1.InteractionMessage{{Role: memoryv1.MessageRole_MESSAGE_ROLE_USER, Content: "Hi."}}
	for _, test := range []struct {
		want proto.Message
		json string
		call func(*Client)
	}{
		{&memoryv1.WriteRequest{}, `{"content": "x"}`, func(c *Client) { _, _ = c.Write(ctx, "x") }},
		{&memoryv1.WriteRequest{}, `{"target": "", "append": false}`, func(c *Client) {
			_, _ = c.Write(ctx, "", Target(""), Append(false))
		}},
		{&memoryv1.WriteRequest{}, `{"target": "memory", "append": true, "old_string": "a", "new_string": "",
			"replace_all": true, "timezone": "UTC", "must_not_exist": true,
			"metadata": {"tags": ["a"], "read_only": true, "schema": null}}`, func(c *Client) {
			_, _ = c.Write(ctx, "", Target("memory"), Append(true), Patch("a", ""), ReplaceAll(), Timezone("UTC"),
				ExpectedSHA256("ab"), MustNotExist(), metadata, CorrelationID("c"))
		}},
		{&memoryv1.WriteRequest{}, `{"expected_sha256": "", "metadata": {}}`, func(c *Client) {
			_, _ = c.Write(ctx, "", ExpectedSHA256(""), Metadata(nil))
		}},
		{&memoryv1.ReadRequest{}, `{"path": "a.md"}`, func(c *Client) { _, _ = c.Read(ctx, "a.md") }},
		{&memoryv1.SearchRequest{}, `{"query": "q"}`, func(c *Client) { _, _ = c.Search(ctx, "q") }},
		{&memoryv1.SearchRequest{}, `{"query": "q", "limit": 0, "path_prefix": "d/", "min_score": 0}`, func(c *Client) {
			_, _ = c.Search(ctx, "q", Limit(0), PathPrefix("d/"), MinScore(0))
		}},
		{&memoryv1.TreeRequest{}, `{}`, func(c *Client) { _, _ = c.Tree(ctx, "") }},
		{&memoryv1.TreeRequest{}, `{"path": "d", "depth": 3}`, func(c *Client) { _, _ = c.Tree(ctx, "d", Depth(3)) }},
		{&memoryv1.ProfileSetRequest{}, `{"timezone": "UTC", "locale": "", "location": "Rome"}`, func(c *Client) {
			_, _ = c.ProfileSet(ctx, Timezone("UTC"), Locale(""), Location("Rome"))
		}},
		{&memoryv1.InvokeToolRequest{}, `{"tool_id": "ironclaw.memory.profile_set", "arguments_json": "{}"}`, func(c *Client) {
			_, _ = c.Invoke(ctx, "ironclaw_memory_profile_set", "{}")
		}},
		{&memoryv1.RetrieveContextRequest{}, `{"query": "q", "max_snippets": 50}`, func(c *Client) {
			_, _ = c.RetrieveContext(ctx, "q")
		}},
		{&memoryv1.ReadLongTermRequest{}, `{"query": "q", "context_profile_id": "memory_disabled"}`, func(c *Client) {
			_, _ = c.ReadLongTerm(ctx, "q", MaxSnippets(0), ContextProfile("memory_disabled"))
		}},
		{&memoryv1.ReadShortTermRequest{}, `{"query": "q", "max_snippets": 7}`, func(c *Client) {
			_, _ = c.ReadShortTerm(ctx, "q", MaxSnippets(7), Timeout(time.Minute))
		}},
		{&memoryv1.RecordInteractionRequest{}, `{"turn_run_id": "r", "background": true, "metadata": {"read_only": true,
			"tags": ["a"], "schema": null}, "messages": [{"role": "MESSAGE_ROLE_USER", "content": "Hi."}]}`, func(c *Client) {
			_, _ = c.RecordInteraction(ctx, "r", said, Background(), metadata)
		}},
		{&memoryv1.ClaimCurationRequest{}, `{}`, func(c *Client) { _, _ = c.ClaimCuration(ctx) }},
		{&memoryv1.ClaimCurationRequest{}, `{"lease_seconds": 61, "force": true}`, func(c *Client) {
			_, _ = c.ClaimCuration(ctx, Lease(time.Minute+time.Millisecond), Force())
		}},
		{&memoryv1.ClaimCurationRequest{}, `{"lease_seconds": 2147483647}`, func(c *Client) {
			_, _ = c.ClaimCuration(ctx, Lease(math.MaxInt64))
		}},
		{&memoryv1.CompleteCurationRequest{}, `{"lease_id": "l", "content": "", "report": {"kept": 2}}`, func(c *Client) {
			_, _ = c.CompleteCuration(ctx, "l", Curated(""), Report(report))
		}},
		{&memoryv1.CompleteCurationRequest{}, `{"lease_id": "l", "abandon": true}`, func(c *Client) {
			_, _ = c.CompleteCuration(ctx, "l", Abandon())
		}},
		{&memoryv1.ReadVersionRequest{}, `{"path": "a", "version": 2}`, func(c *Client) { _, _ = c.ReadVersion(ctx, "a", 2) }},
		{&memoryv1.RestoreVersionRequest{}, `{"path": "a", "version": 2, "expected_sha256": "ab"}`, func(c *Client) {
			_, _ = c.RestoreVersion(ctx, "a", 2, ExpectedSHA256("ab"))
		}},
		{&memoryv1.DeleteDocumentRequest{}, `{"path": "a", "expected_sha256": "", "purge_versions": true}`, func(c *Client) {
			_, _ = c.DeleteDocument(ctx, "a", ExpectedSHA256(""), PurgeVersions())
		}},
	} {
		script, client, _ := connect(t)
		test.call(client)
		if err := protojson.Unmarshal([]byte(test.json), test.want); err != nil {
			t.Fatal(err)
		}
		if calls := script.calls(); len(calls) != 1 || !proto.Equal(calls[0].request, test.want) {
			t.Errorf("not %v: %v", test.want, calls)
		}
	}
}

func TestMetadataThatAreNoJSONAreRefusedBeforeAnythingIsSent(t *testing.T) {
	script, client, _ := connect(t)
	for _, values := range []map[string]any{{"a": make(chan int)}, {"a": math.NaN()}, {"a": func() {}}} {
		if _, err := client.Write(t.Context(), "x", Metadata(values)); err == nil {
			t.Errorf("%v was taken", values)
		}
		if _, err := client.RecordInteraction(t.Context(), "r", nil, Metadata(values)); err == nil {
			t.Errorf("%v was taken", values)
		}
	}
	if calls := script.calls(); len(calls) != 0 {
		t.Errorf("%d calls were made", len(calls))
	}
}
