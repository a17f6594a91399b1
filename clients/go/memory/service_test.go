package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ironclaw-memory/clients/go/memory"
	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// open returns a client of a service, in a tenant named after the test, with patience for a busy machine.
func open(t *testing.T, target string, options ...memory.Option) *memory.Client {
	t.Helper()
	options = append([]memory.Option{memory.WithTimeout(30 * time.Second)}, options...)
	client, err := memory.New(target, memory.Scope{Tenant: t.Name(), User: "ann", Thread: "chat-1"}, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestATurnIsRecordedAndFoundAgain(t *testing.T) {
	ctx, client := t.Context(), open(t, target())
	said := []*memoryv1.InteractionMessage{
		{Role: memoryv1.MessageRole_MESSAGE_ROLE_USER, Content: "My sister Mia plays the cello."},
		{Role: memoryv1.MessageRole_MESSAGE_ROLE_ASSISTANT, Content: "Noted.", Name: "helper"},
	}
	recorded, err := client.RecordInteraction(ctx, "run-1", said, memory.Metadata(map[string]any{"channel": "chat"}))
	if err != nil || !recorded.GetRecorded() || recorded.GetTurnsSinceCuration() != 1 {
		t.Fatal(recorded, err)
	}
	if _, err := client.Write(ctx, "User has a sister.", memory.Target("memory")); err != nil {
		t.Fatal(err)
	}
	found, err := client.RetrieveContext(ctx, "cello")
	if err != nil || !strings.Contains(found.GetBlock(), "Mia") || !strings.Contains(found.GetBlock(), "sister.") {
		t.Error(found, err)
	}
	long, err := client.ReadLongTerm(ctx, "cello")
	if err != nil || len(long.GetSnippets()) != 1 || !strings.Contains(long.GetSnippets()[0].GetText(), "sister") {
		t.Error(long, err)
	}
	short, err := client.ReadShortTerm(ctx, "cello", memory.MaxSnippets(3))
	if err != nil || len(short.GetSnippets()) == 0 || !strings.Contains(short.GetSnippets()[0].GetText(), "Mia") {
		t.Error(short, err)
	}
	none, err := client.RetrieveContext(ctx, "cello", memory.MaxSnippets(0))
	if err != nil || none.GetBlock() != "" {
		t.Error(none, err)
	}
}

func TestMemoryIsCuratedByOneCallerAtATime(t *testing.T) {
	ctx, client := t.Context(), open(t, target())
	if _, err := client.Write(ctx, "User likes tea.\nUser likes tea a lot.", memory.Target("memory")); err != nil {
		t.Fatal(err)
	}
	claim, err := client.ClaimCuration(ctx, memory.Force(), memory.Lease(time.Minute))
	if err != nil || !claim.GetClaimed() || time.Until(claim.GetExpiresAt().AsTime()) > time.Minute {
		t.Fatal(claim, err)
	}
	if again, err := client.ClaimCuration(ctx, memory.Force()); err != nil || again.GetClaimed() {
		t.Error("two callers have the lease", again, err)
	}
	done, err := client.CompleteCuration(ctx, claim.GetLeaseId(), memory.Curated("User likes tea a lot.\n"),
		memory.Report(&memoryv1.CurationReport{Kept: 1, Merged: 1}))
	if err != nil || done.GetOutcome() != memoryv1.CurationOutcome_CURATION_OUTCOME_REWRITTEN {
		t.Error(done, err)
	}
	if _, err := client.CompleteCuration(ctx, "made-up", memory.Abandon()); !errors.Is(err, memory.ReasonLeaseInvalid) {
		t.Error(err)
	}
}

func TestAProfileIsTheUsersWhateverTheAgent(t *testing.T) {
	ctx, client := t.Context(), open(t, target())
	if answer, err := client.ProfileRead(ctx); err != nil || answer.Document != nil {
		t.Error(answer, err)
	}
	if _, err := client.ProfileSet(ctx, memory.Timezone("Asia/Shanghai"), memory.Locale("zh-CN")); err != nil {
		t.Fatal(err)
	}
	coder := client.WithScope(client.Scope().WithAgent("coder").WithProject("apollo"))
	answer, err := coder.ProfileRead(ctx)
	if err != nil || !strings.Contains(string(answer.GetDocument()), "Asia/Shanghai") {
		t.Error(answer, err)
	}
}

func TestADeletionIsUndoneFromTheHistory(t *testing.T) {
	ctx, client := t.Context(), open(t, target())
	for _, text := range []string{"one", "two", "three"} {
		if _, err := client.Write(ctx, text, memory.Target("a.md"), memory.Append(false)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.DeleteDocument(ctx, "a.md", memory.ExpectedSHA256(strings.Repeat("0", 64))); !errors.Is(err, memory.ErrConflict) {
		t.Error(err)
	}
	gone, err := client.DeleteDocument(ctx, "a.md")
	if err != nil || gone.GetKeptVersion() != 3 {
		t.Fatal(gone, err)
	}
	var reasons []memoryv1.VersionReason
	for version, err := range client.ListVersions(ctx, "a.md", memory.PageSize(1)) {
		if err != nil {
			t.Fatal(err)
		}
		reasons = append(reasons, version.GetReason())
	}
	if len(reasons) != 3 || reasons[0] != memoryv1.VersionReason_VERSION_REASON_DELETED {
		t.Error(reasons)
	}
	if _, err := client.RestoreVersion(ctx, "a.md", 2); err != nil {
		t.Fatal(err)
	}
	if back, err := client.Read(ctx, "a.md"); err != nil || back.GetContent() != "two" {
		t.Error(back, err)
	}
	if stats, err := client.GetScopeStats(ctx); err != nil || stats.GetDocuments() != 1 || stats.GetSizeBytes() != 3 {
		t.Error(stats, err)
	}
}

func TestAChangeUnderOneRequestIDIsMadeOnce(t *testing.T) {
	ctx, client := t.Context(), open(t, target())
	for n := range 2 {
		answer, err := client.Write(ctx, "once", memory.Target("a.md"), memory.RequestID("order-7"))
		if err != nil || answer.GetReplayed() != (n == 1) {
			t.Error(answer, err)
		}
	}
	if _, err := client.Write(ctx, "other", memory.Target("a.md"), memory.RequestID("order-7")); !errors.Is(err, memory.ReasonRequestIDReused) {
		t.Error(err)
	}
	if document, err := client.Read(ctx, "a.md"); err != nil || document.GetContent() != "once\n" {
		t.Error(document, err)
	}
}

func TestAWatchEndsWithItsTimeAndRefusesAFalseCursor(t *testing.T) {
	client := open(t, target())
	var failure error
	for _, err := range client.WatchEvents(t.Context(), memory.Timeout(300*time.Millisecond)) {
		failure = err
	}
	if !errors.Is(failure, context.DeadlineExceeded) {
		t.Error(failure)
	}
	for _, err := range client.WatchEvents(t.Context(), memory.FromCursor("made-up")) {
		failure = err
	}
	if !errors.Is(failure, memory.ReasonInvalidArguments) {
		t.Error(failure)
	}
}
