package memory

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

func page(next string, numbers ...uint64) *memoryv1.ListVersionsResponse {
	answer := &memoryv1.ListVersionsResponse{NextPageToken: next}
	for _, number := range numbers {
		answer.Versions = append(answer.Versions, &memoryv1.DocumentVersion{Version: number})
	}
	return answer
}

func TestVersionsComePageByPage(t *testing.T) {
	script, client, _ := connect(t)
	script.then(page("p2", 5, 4)).then(busy).then(page("", 3))
	var numbers []uint64
	for version, err := range client.ListVersions(t.Context(), "a.md", PageSize(2)) {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, version.GetVersion())
	}
	if !slices.Equal(numbers, []uint64{5, 4, 3}) {
		t.Error(numbers)
	}
	var tokens []string
	for _, call := range script.calls() {
		request := call.request.(*memoryv1.ListVersionsRequest)
		tokens = append(tokens, request.GetPageToken())
		if request.GetPageSize() != 2 || request.GetPath() != "a.md" {
			t.Error(request)
		}
	}
	if !slices.Equal(tokens, []string{"", "p2", "p2"}) {
		t.Error(tokens)
	}
}

func TestPagesThatNobodyWantsAreNotFetched(t *testing.T) {
	script, client, _ := connect(t)
	script.then(page("p2", 5, 4))
	for range client.ListVersions(t.Context(), "a.md") {
		break
	}
	if calls := script.calls(); len(calls) != 1 {
		t.Errorf("%d pages", len(calls))
	}
}

func TestAnErrorEndsTheVersions(t *testing.T) {
	script, client, _ := connect(t)
	script.then(page("p2", 5)).then(refusal{code: codes.DataLoss, reason: ReasonDocumentCorrupt}.error())
	var failures []error
	for _, err := range client.ListVersions(t.Context(), "a.md") {
		failures = append(failures, err)
	}
	if len(failures) != 2 || failures[0] != nil || !errors.Is(failures[1], ReasonDocumentCorrupt) {
		t.Error(failures)
	}
}

func event(cursor string) *memoryv1.WatchEventsResponse {
	return &memoryv1.WatchEventsResponse{Cursor: cursor}
}

// watched takes what a watch brings until it ends.
func watched(ctx context.Context, client *Client, options ...WatchOption) (cursors []string, failure error) {
	for message, err := range client.WatchEvents(ctx, options...) {
		if err != nil {
			failure = err
			continue
		}
		cursors = append(cursors, message.GetCursor())
	}
	return cursors, failure
}

func TestAWatchGoesOnWhereItWas(t *testing.T) {
	script, client, waits := connect(t)
	stopped := refusal{code: codes.Unavailable, reason: ReasonShuttingDown}.error()
	script.then(event("c1"), event("c2"), stopped).then(stopped).then(status.Error(codes.Unavailable, "gone"))
	script.then(event("c3"), stopped).then(stopped).then(stopped).then(event("c4"))
	written := memoryv1.EventKind_EVENT_KIND_WRITTEN
	cursors, err := watched(t.Context(), client, FromCursor("c0"), WholeTenant(), Kinds(written), CorrelationID("w"))
	if err != nil || !slices.Equal(cursors, []string{"c1", "c2", "c3", "c4"}) {
		t.Error(cursors, err)
	}
	var asked []string
	for _, call := range script.calls() {
		request := call.request.(*memoryv1.WatchEventsRequest)
		asked = append(asked, request.GetCursor())
		if !request.GetWholeTenant() || !slices.Equal(request.GetKinds(), []memoryv1.EventKind{written}) {
			t.Error(request)
		}
		if call.left != 0 || call.value("x-ironclaw-correlation-id") != "w" || call.value("x-ironclaw-user-id") != "ann" {
			t.Errorf("%+v", call)
		}
	}
	if !slices.Equal(asked, []string{"c0", "c2", "c2", "c2", "c3", "c3", "c3"}) || len(waits.asked) != 6 {
		t.Errorf("asked for %v with %d waits", asked, len(waits.asked))
	}
}

func TestAWatchGivesUpWhenNothingComes(t *testing.T) {
	script, client, _ := connect(t, WithRetry(RetryPolicy{MaxTries: 2}))
	script.then(event("c1"), busy).then(busy).then(event("c2"))
	cursors, err := watched(t.Context(), client)
	if !slices.Equal(cursors, []string{"c1"}) || !errors.Is(err, ReasonOverloaded) || len(script.calls()) != 2 {
		t.Error(cursors, err)
	}
}

func TestAWatchThatIsRefusedEndsAtOnce(t *testing.T) {
	script, client, _ := connect(t)
	script.then(refusal{code: codes.InvalidArgument, reason: ReasonInvalidArguments}.error()).then(event("c1"))
	cursors, err := watched(t.Context(), client, FromCursor("made-up"), CorrelationID("w"))
	var failure *Error
	if len(cursors) != 0 || !errors.As(err, &failure) || failure.Reason != ReasonInvalidArguments || failure.CorrelationID != "w" {
		t.Error(cursors, err)
	}
}

func TestAWatchThatIsLeftIsNotTakenUpAgain(t *testing.T) {
	script, client, _ := connect(t)
	script.then(event("c1"), event("c2"), busy)
	taken := 0
	for range client.WatchEvents(t.Context()) {
		taken++
		break
	}
	if taken != 1 || len(script.calls()) != 1 {
		t.Errorf("%d messages in %d calls", taken, len(script.calls()))
	}
}

func TestAWatchCanBeRunAgainFromItsBeginning(t *testing.T) {
	script, client, _ := connect(t)
	script.then(event("c1")).then(event("c1"))
	watch := client.WatchEvents(t.Context(), FromCursor("c0"))
	for range 2 {
		for _, err := range watch {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, call := range script.calls() {
		if cursor := call.request.(*memoryv1.WatchEventsRequest).GetCursor(); cursor != "c0" {
			t.Errorf("the watch began at %q", cursor)
		}
	}
}

func TestStubsOverTheConnectionFollowTheClient(t *testing.T) {
	script, client, _ := connect(t, WithToken("key"))
	script.then(busy).then(&memoryv1.WriteResponse{}).then(event("c1"), busy)
	stub := memoryv1.NewMemoryServiceClient(client.Conn())
	if _, err := stub.Write(t.Context(), &memoryv1.WriteRequest{Content: "tea"}, CorrelationID("c")); err != nil {
		t.Fatal(err)
	}
	watch, err := memoryv1.NewMemoryEventServiceClient(client.Conn()).WatchEvents(t.Context(), &memoryv1.WatchEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); !errors.Is(err, ReasonOverloaded) || errors.Is(err, io.EOF) {
		t.Error(err)
	}
	calls := script.calls()
	for _, call := range calls {
		if call.value("x-ironclaw-tenant-id") != "acme" || call.value("authorization") != "Bearer key" {
			t.Errorf("%+v", call)
		}
	}
	if id := calls[0].value("x-ironclaw-request-id"); id == "" || id != calls[1].value("x-ironclaw-request-id") {
		t.Errorf("the tries of one change have the ids of two")
	}
}
