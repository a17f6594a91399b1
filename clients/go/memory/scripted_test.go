package memory

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/durationpb"
)

// scripted is a service whose answers a test writes down beforehand, for failures that a healthy one can't be made to
// show. It answers every method by its descriptor, each call with the next answers.
type scripted struct {
	mu      sync.Mutex
	answers [][]any // of each call: messages, then perhaps an error
	seen    []seenCall
}

// seenCall is what the service saw of a call.
type seenCall struct {
	method   string
	request  proto.Message
	metadata metadata.MD
	left     time.Duration // until the deadline; 0 without one
}

// then adds a call's answers.
func (s *scripted) then(answers ...any) *scripted {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answers)
	return s
}

func (s *scripted) calls() []seenCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seenCall(nil), s.seen...)
}

// value returns the one value that the call's metadata have under the key; "" for none, and for several.
func (c seenCall) value(key string) string {
	values := c.metadata.Get(key)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

func (s *scripted) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	call := seenCall{method: method, request: requestOf(method)}
	if err := stream.RecvMsg(call.request); err != nil {
		return err
	}
	call.metadata, _ = metadata.FromIncomingContext(stream.Context())
	if deadline, ok := stream.Context().Deadline(); ok {
		call.left = time.Until(deadline)
	}
	for _, answer := range s.next(call) {
		switch answer := answer.(type) {
		case error:
			return answer
		case proto.Message:
			if err := stream.SendMsg(answer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scripted) next(call seenCall) []any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, call)
	if len(s.answers) == 0 {
		return []any{status.Error(codes.FailedPrecondition, "the script has no answer left")}
	}
	answers := s.answers[0]
	s.answers = s.answers[1:]
	return answers
}

// requestOf returns an empty message of the type that a method takes.
func requestOf(method string) proto.Message {
	service, name, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		panic(err)
	}
	input := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name)).Input().FullName()
	message, err := protoregistry.GlobalTypes.FindMessageByName(input)
	if err != nil {
		panic(err)
	}
	return message.New().Interface()
}

// waits are the waits between tries that a client asked for; none of them takes any time.
type waits struct{ asked []time.Duration }

func (w *waits) wait(ctx context.Context, d time.Duration) error {
	w.asked = append(w.asked, d)
	return ctx.Err()
}

// connect serves a script in memory, and returns it with a client of it and the waits that the client asks for.
func connect(t *testing.T, options ...Option) (*scripted, *Client, *waits) {
	t.Helper()
	script := &scripted{}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.UnknownServiceHandler(script.handle))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	waits := &waits{}
	options = append([]Option{
		WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		})),
		func(c *config) { c.wait = waits.wait },
	}, options...)
	client, err := New("passthrough:///localhost", Scope{Tenant: "acme", User: "ann"}, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return script, client, waits
}

// refusal is a failed call as the service puts it.
type refusal struct {
	code    codes.Code
	reason  Reason
	message string
	domain  string // the service's own when empty
	delay   time.Duration
	facts   map[string]string
	fields  map[string]string
}

func (r refusal) error() error {
	facts := map[string]string{"kind": "input"}
	for key, value := range r.facts {
		facts[key] = value
	}
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(&errdetails.ErrorInfo{
		Reason: string(r.reason), Domain: or(r.domain, domain), Metadata: facts,
	})}
	if r.fields != nil {
		bad := &errdetails.BadRequest{}
		for field, description := range r.fields {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: field, Description: description})
		}
		details = append(details, protoadapt.MessageV1Of(bad))
	}
	if r.delay > 0 {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(r.delay)}))
	}
	found, err := status.New(r.code, or(r.message, "No.")).WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return found.Err()
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
