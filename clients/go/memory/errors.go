package memory

import (
	"context"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// domain marks the details that are the service's own; a proxy's are not ours to read.
const domain = "memory.ironclaw"

// Error is a call that failed. Take it out with [errors.As], or ask with [errors.Is] for a [Reason], for a group such as
// [ErrUnavailable], or for [context.DeadlineExceeded] and [context.Canceled]. The functions of gRPC's status package
// take it too.
type Error struct {
	// Code is the status code.
	Code codes.Code
	// Reason is why; empty when the service itself didn't answer, as when the connection was refused.
	Reason Reason
	// Kind is "input", "operation" or "unavailable"; empty like Reason.
	Kind string
	// Message is one sentence without document text.
	Message string
	// Metadata are further facts, such as limit_bytes.
	Metadata map[string]string
	// FieldViolations are the fields of the request to blame; empty but for input errors.
	FieldViolations []FieldViolation
	// RetryDelay is after how long the same call may succeed; nil when the server named no time.
	RetryDelay *time.Duration
	// CorrelationID is the one that the call was made with, by which the service's log and events name it; empty when the
	// caller gave none.
	CorrelationID string

	status *status.Status
}

// FieldViolation is one field of a request to blame.
type FieldViolation struct {
	// Field is its name in the request, such as "target".
	Field string
	// Description is what is wrong with it, in one sentence.
	Description string
}

// Error returns the reason, or the status code where there is none, and the message.
func (e *Error) Error() string {
	name := string(e.Reason)
	if name == "" {
		name = e.Code.String()
	}
	return "ironclaw-memory: " + name + ": " + e.Message
}

// GRPCStatus returns the status as it came, so that [status.FromError] and [status.Code] understand the error.
func (e *Error) GRPCStatus() *status.Status {
	if e.status == nil {
		return status.New(e.Code, e.Message)
	}
	return e.status
}

// Is tells whether the error has the reason or belongs to the group; for [errors.Is].
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	case context.Canceled:
		return e.Code == codes.Canceled
	case ErrUnreachable:
		return e.Code == codes.Unavailable && e.Reason == ""
	}
	if reason, ok := target.(Reason); ok {
		return e.Reason == reason && reason != ""
	}
	return e.group() == target
}

// group returns what the error belongs to: by its reason, else, for one that is newer than this client, by its code.
func (e *Error) group() error {
	if group, ok := groups[e.Reason]; ok {
		return group
	}
	switch e.Code {
	case codes.Unavailable:
		return ErrUnavailable
	case codes.Unauthenticated:
		return ErrUnauthenticated
	case codes.PermissionDenied:
		return ErrForbidden
	}
	return nil
}

// CurrentSHA256 returns, for [ReasonContentChanged], the hash of what is there now: 64 hex digits, or empty when there is
// no document.
func (e *Error) CurrentSHA256() string { return e.Metadata["current_sha256"] }

// RuleIDs returns, for [ErrUnsafeText], the rules that matched, most severe first; none where no rule is involved.
func (e *Error) RuleIDs() []string {
	return strings.FieldsFunc(e.Metadata["rule_ids"], func(r rune) bool { return r == ',' })
}

// Permission returns, for [ReasonPermissionForbidden], the permission that the credential lacks, such as "write".
func (e *Error) Permission() string { return e.Metadata["permission"] }

// IncidentID returns, for [ReasonInternal], the id under which the service's log has more; empty for other reasons.
func (e *Error) IncidentID() string { return e.Metadata["incident_id"] }

// errorOf returns what a failed call carries: its code and message always, the rest as far as the service sent it.
func errorOf(failure error) *Error {
	found := status.Convert(failure)
	err := &Error{Code: found.Code(), Message: found.Message(), status: found}
	details := found.Details()
	if !err.readInfo(details) {
		return err
	}
	for _, detail := range details {
		switch detail := detail.(type) {
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				err.FieldViolations = append(err.FieldViolations, FieldViolation{violation.GetField(), violation.GetDescription()})
			}
		case *errdetails.RetryInfo:
			delay := max(0, detail.GetRetryDelay().AsDuration())
			err.RetryDelay = &delay
		}
	}
	return err
}

// readInfo takes over the service's own words about the failure, and tells whether there are any.
func (e *Error) readInfo(details []any) bool {
	for _, detail := range details {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != domain {
			continue
		}
		e.Reason = Reason(info.GetReason())
		e.Kind = info.GetMetadata()["kind"]
		e.Metadata = info.GetMetadata()
		delete(e.Metadata, "kind")
		return true
	}
	return false
}

// interrupted returns the error of a call whose context ended while it waited for another try.
func interrupted(ended error, failure *Error) *Error {
	found := status.FromContextError(ended)
	message := "the call ended while it waited to be tried again after " + failure.Error()
	return &Error{Code: found.Code(), Message: message, CorrelationID: failure.CorrelationID}
}
