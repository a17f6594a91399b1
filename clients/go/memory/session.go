package memory

import (
	"context"
	"crypto/rand"
	"io"
	"time"

	"google.golang.org/grpc"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// session makes the calls of one client, and of the generated stubs over it: each with its scope, credential and ids,
// within its deadline, as often as the rules of [RetryPolicy] allow, and with every failure as an [*Error].
type session struct {
	conn    grpc.ClientConnInterface
	scope   Scope
	timeout time.Duration
	token   tokenSource
	pacing
}

// settings are what may differ from call to call.
type settings struct {
	scope         Scope
	requestID     string
	correlationID string
	timeout       time.Duration
}

// change tells what it means to repeat a call.
type change int

const (
	// none: the call reads.
	none change = iota
	// unconditional: the call changes documents, whatever they hold now.
	unconditional
	// conditional: the call changes a document only as long as a precondition holds.
	conditional
)

// changes are the methods that carry a request id, so that all tries of a call make one change. InvokeTool counts as one
// whatever the tool: a read under a request id is only a read. CompleteCuration isn't here, since the service knows a
// second try by its lease and arguments.
var changes = map[string]bool{
	memoryv1.MemoryService_Write_FullMethodName:                      true,
	memoryv1.MemoryService_ProfileSet_FullMethodName:                 true,
	memoryv1.MemoryService_InvokeTool_FullMethodName:                 true,
	memoryv1.MemoryAdminService_RestoreVersion_FullMethodName:        true,
	memoryv1.MemoryAdminService_DeleteDocument_FullMethodName:        true,
	memoryv1.MemoryLifecycleService_RecordInteraction_FullMethodName: true,
	memoryv1.MemoryLifecycleService_ClaimCuration_FullMethodName:     true,
}

func changeOf(method string, request any) change {
	if !changes[method] {
		return none
	}
	held := false
	switch request := request.(type) {
	case *memoryv1.WriteRequest:
		held = request.GetPrecondition() != nil
	case *memoryv1.RestoreVersionRequest:
		held = request.ExpectedSha256 != nil
	case *memoryv1.DeleteDocumentRequest:
		held = request.ExpectedSha256 != nil
	}
	if held {
		return conditional
	}
	return unconditional
}

// Invoke makes a unary call.
func (s *session) Invoke(ctx context.Context, method string, request, answer any, options ...grpc.CallOption) error {
	own, rest := s.split(options)
	ctx, cancel := own.bound(ctx, s.timeout)
	defer cancel()
	change := changeOf(method, request)
	if change != none && own.requestID == "" {
		own.requestID = rand.Text()
	}
	ctx, err := s.outgoing(ctx, own)
	if err != nil {
		return err
	}
	tries := tries{pacing: s.pacing, change: change}
	for {
		err := s.conn.Invoke(ctx, method, request, answer, rest...)
		if err == nil {
			return nil
		}
		failure := own.errorOf(err)
		if err := tries.waitAfter(ctx, failure); err != nil {
			return err
		}
	}
}

// NewStream begins a streaming call. It has no deadline but the caller's, and isn't repeated.
func (s *session) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	own, rest := s.split(options)
	ctx, cancel := own.bound(ctx, 0)
	ctx, err := s.outgoing(ctx, own)
	if err != nil {
		cancel()
		return nil, err
	}
	begun, err := s.conn.NewStream(ctx, description, method, rest...)
	if err != nil {
		cancel()
		return nil, own.errorOf(err)
	}
	return &stream{begun, own, cancel}, nil
}

// stream hands out failures as the package's own, and frees the deadline's timer with the last message.
type stream struct {
	grpc.ClientStream
	own    settings
	cancel context.CancelFunc
}

// RecvMsg takes the next message; at the stream's end it returns io.EOF.
func (s *stream) RecvMsg(message any) error {
	err := s.ClientStream.RecvMsg(message)
	if err == nil {
		return nil
	}
	s.cancel()
	if err == io.EOF {
		return err
	}
	return s.own.errorOf(err)
}

// split tells this package's options from those that are gRPC's own.
func (s *session) split(options []grpc.CallOption) (settings, []grpc.CallOption) {
	own := settings{scope: s.scope}
	rest := make([]grpc.CallOption, 0, len(options))
	for _, option := range options {
		if ours, ok := option.(callOption); ok {
			ours.set(&own)
		} else {
			rest = append(rest, option)
		}
	}
	return own, rest
}

// errorOf returns a failure of this call.
func (s settings) errorOf(err error) *Error {
	failure := errorOf(err)
	failure.CorrelationID = s.correlationID
	return failure
}

// bound returns a context with the call's deadline: the option's, else the caller's, else the client's.
func (s settings) bound(ctx context.Context, otherwise time.Duration) (context.Context, context.CancelFunc) {
	if s.timeout > 0 {
		return context.WithTimeout(ctx, s.timeout)
	}
	if _, has := ctx.Deadline(); has || otherwise <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, otherwise)
}

// outgoing returns the context with the metadata of one call, which are the same on all tries.
func (s *session) outgoing(ctx context.Context, own settings) (context.Context, error) {
	ctx, err := outgoing(ctx, own.scope, own.requestID, own.correlationID)
	if err != nil {
		return ctx, err
	}
	return s.token.authorize(ctx)
}
