package memory

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// reasons are the names in the protos, without the one that is never sent.
func reasons() map[Reason]bool {
	names := map[Reason]bool{}
	for name, number := range memoryv1.ErrorReason_value {
		if number != 0 {
			names[Reason(strings.TrimPrefix(name, "ERROR_REASON_"))] = true
		}
	}
	return names
}

// alone are the reasons that belong to no group.
var alone = map[Reason]bool{
	ReasonNotFound: true, ReasonSchemaViolation: true, ReasonRateLimited: true, ReasonInternal: true,
	ReasonDeadlineExceeded: true, ReasonCancelled: true,
}

func TestEveryReasonOfTheProtosIsSorted(t *testing.T) {
	sorted := maps.Clone(alone)
	for reason := range groups {
		sorted[reason] = true
	}
	if want := reasons(); !maps.Equal(sorted, want) {
		t.Errorf("the client sorts %v, the protos have %v", sorted, want)
	}
}

// refused reads something from a service that refuses it.
func refused(t *testing.T, failure error) *Error {
	t.Helper()
	script, client, _ := connect(t, WithRetry(NoRetry))
	script.then(failure)
	_, err := client.Read(t.Context(), "MEMORY.md")
	var found *Error
	if !errors.As(err, &found) {
		t.Fatalf("%v is no *Error", err)
	}
	return found
}

func TestEachReasonIsToldAndGrouped(t *testing.T) {
	all := []error{
		ErrInvalidRequest, ErrUnsafeText, ErrDocumentState, ErrConflict, ErrUnauthenticated, ErrForbidden,
		ErrStorageExhausted, ErrUnavailable, ErrUnreachable,
	}
	for reason := range reasons() {
		err := refused(t, refusal{code: codes.FailedPrecondition, reason: reason}.error())
		if err.Code != codes.FailedPrecondition || err.Kind != "input" || !errors.Is(err, reason) {
			t.Errorf("%s came as %#v", reason, err)
		}
		if errors.Is(err, Reason("")) || errors.Is(err, Reason("OTHER")) {
			t.Errorf("%s is another reason too", reason)
		}
		for _, group := range all {
			if errors.Is(err, group) != (groups[reason] == group) {
				t.Errorf("%s and %v", reason, group)
			}
		}
	}
}

func TestEverythingThatTheServiceSaidIsOnTheError(t *testing.T) {
	err := refused(t, refusal{
		code: codes.InvalidArgument, reason: ReasonDocumentTooLarge, message: "Too large.", delay: 1500 * time.Millisecond,
		facts: map[string]string{"limit_bytes": "1048576"}, fields: map[string]string{"content": "It has 2 MiB."},
	}.error())
	delay := 1500 * time.Millisecond
	want := &Error{
		Code: codes.InvalidArgument, Reason: ReasonDocumentTooLarge, Kind: "input", Message: "Too large.",
		Metadata:        map[string]string{"limit_bytes": "1048576"},
		FieldViolations: []FieldViolation{{"content", "It has 2 MiB."}}, RetryDelay: &delay, status: err.status,
	}
	if !reflect.DeepEqual(err, want) {
		t.Errorf("%+v", err)
	}
	if text := err.Error(); text != "ironclaw-memory: DOCUMENT_TOO_LARGE: Too large." {
		t.Error(text)
	}
	if status.Code(err) != codes.InvalidArgument || len(status.Convert(err).Details()) != 3 {
		t.Error("gRPC's own functions don't understand the error")
	}
}

func TestWhatSomeReasonsTell(t *testing.T) {
	facts := map[string]string{"current_sha256": "ab", "rule_ids": "a1,b2", "permission": "write", "incident_id": "7f"}
	err := refused(t, refusal{code: codes.Aborted, reason: ReasonContentChanged, facts: facts}.error())
	if err.CurrentSHA256() != "ab" || err.Permission() != "write" || err.IncidentID() != "7f" {
		t.Errorf("%+v", err)
	}
	if ids := err.RuleIDs(); !reflect.DeepEqual(ids, []string{"a1", "b2"}) {
		t.Error(ids)
	}
	if errors.Is(&Error{}, Reason("")) {
		t.Error("no reason counts as one")
	}
	if ids := (&Error{}).RuleIDs(); len(ids) != 0 {
		t.Error(ids)
	}
}

func TestTheCorrelationIDIsOnTheError(t *testing.T) {
	script, client, _ := connect(t)
	script.then(refusal{code: codes.NotFound, reason: ReasonNotFound}.error())
	_, err := client.Read(t.Context(), "a", CorrelationID("turn-9"))
	var found *Error
	if !errors.As(err, &found) || found.CorrelationID != "turn-9" {
		t.Errorf("%+v", err)
	}
}

func TestAReasonFromANewerServiceFallsBackToTheCode(t *testing.T) {
	for code, group := range map[codes.Code]error{
		codes.Unavailable: ErrUnavailable, codes.Unauthenticated: ErrUnauthenticated, codes.PermissionDenied: ErrForbidden,
	} {
		err := refused(t, refusal{code: code, reason: "MOON_IN_THE_WRONG_PHASE"}.error())
		if err.Reason != "MOON_IN_THE_WRONG_PHASE" || !errors.Is(err, group) || errors.Is(err, ErrUnreachable) {
			t.Errorf("%+v", err)
		}
	}
}

func TestDetailsOfAnotherDomainAreNotTakenForTheServices(t *testing.T) {
	err := refused(t, refusal{
		code: codes.Unavailable, reason: ReasonOutcomeUnknown, domain: "proxy.example", delay: time.Second,
	}.error())
	if err.Reason != "" || err.RetryDelay != nil || !errors.Is(err, ErrUnreachable) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("%+v", err)
	}
	foreign, _ := status.New(codes.NotFound, "No.").WithDetails(&errdetails.DebugInfo{Detail: "x"})
	if err := refused(t, foreign.Err()); err.Reason != "" || err.Code != codes.NotFound {
		t.Errorf("%+v", err)
	}
}

func TestWhereNobodyListensTheServiceIsUnreachable(t *testing.T) {
	client, err := New("unix://"+t.TempDir()+"/nobody.sock", Scope{Tenant: "acme", User: "ann"}, WithRetry(NoRetry))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Read(t.Context(), "MEMORY.md")
	if !errors.Is(err, ErrUnreachable) || !strings.HasPrefix(err.Error(), "ironclaw-memory: Unavailable: ") {
		t.Error(err)
	}
}

func TestTimeThatIsOverAndACallThatIsLeftAreTheContextsErrors(t *testing.T) {
	_, client, _ := connect(t)
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := client.Read(over, "a"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := client.Read(left, "a"); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
