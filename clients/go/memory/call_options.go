package memory

import (
	"time"

	"google.golang.org/grpc"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// CallOption changes one call of any method. It is a gRPC call option too, for the generated stubs over [Client.Conn].
type CallOption interface {
	grpc.CallOption
	WriteOption
	SearchOption
	TreeOption
	ProfileOption
	VersionsOption
	RestoreOption
	DeleteOption
	ContextOption
	RecordOption
	ClaimOption
	CompleteOption
	WatchOption
}

// InScope makes one call in another scope than the client's.
func InScope(scope Scope) CallOption {
	return callOption{set: func(s *settings) { s.scope = scope }}
}

// RequestID names a change, so that it is made once however often it is sent within 24 hours: the answer to a repetition
// is the first result, with Replayed set. Without it each change gets an id of its own. Give yours to be able to ask
// again, with the same arguments, after a call that ended without an answer.
func RequestID(id string) CallOption {
	return callOption{set: func(s *settings) { s.requestID = id }}
}

// CorrelationID ties one call to the service's log lines and events; without it the service makes one.
func CorrelationID(id string) CallOption {
	return callOption{set: func(s *settings) { s.correlationID = id }}
}

// Timeout is the time for this call, its tries and the waits between them; the context may end it sooner. A watch of
// events has none without this option.
func Timeout(timeout time.Duration) CallOption {
	return callOption{set: func(s *settings) { s.timeout = timeout }}
}

// callOption carries what a session reads off a call; it changes no request.
type callOption struct {
	grpc.EmptyCallOption
	set func(*settings)
}

func (callOption) setWrite(*memoryv1.WriteRequest) error              { return nil }
func (callOption) setSearch(*memoryv1.SearchRequest) error            { return nil }
func (callOption) setTree(*memoryv1.TreeRequest) error                { return nil }
func (callOption) setProfile(*memoryv1.ProfileSetRequest) error       { return nil }
func (callOption) setVersions(*memoryv1.ListVersionsRequest) error    { return nil }
func (callOption) setRestore(*memoryv1.RestoreVersionRequest) error   { return nil }
func (callOption) setDelete(*memoryv1.DeleteDocumentRequest) error    { return nil }
func (callOption) setContext(*lanes) error                            { return nil }
func (callOption) setRecord(*memoryv1.RecordInteractionRequest) error { return nil }
func (callOption) setClaim(*memoryv1.ClaimCurationRequest) error      { return nil }
func (callOption) setComplete(*memoryv1.CompleteCurationRequest) error {
	return nil
}
func (callOption) setWatch(*memoryv1.WatchEventsRequest) error { return nil }

// apply puts each option into the request that set changes, and returns those that gRPC takes too.
func apply[R, O any](request *R, options []O, set func(O, *R) error) ([]grpc.CallOption, error) {
	var rest []grpc.CallOption
	for _, option := range options {
		if err := set(option, request); err != nil {
			return nil, err
		}
		if taken, ok := any(option).(grpc.CallOption); ok {
			rest = append(rest, taken)
		}
	}
	return rest, nil
}

// onCall is the set of apply for a method whose request no option changes.
func onCall[R any](CallOption, *R) error { return nil }
