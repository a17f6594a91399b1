package memory

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/metadata"
)

// Scope is whose memory: set by the host, never by a model.
//
// Documents of scopes that differ in tenant, user, agent or project never meet. An empty agent or project is a scope of
// its own, not a wildcard. The thread is the active conversation and keeps nothing apart. Tenant and user may be empty
// where the credential says which.
//
// Each value has 1 to 256 bytes without '/', '\', ':' and control characters; the service refuses others with
// [ReasonScopeInvalid].
type Scope struct {
	Tenant  string
	User    string
	Agent   string
	Project string
	Thread  string
}

// WithUser returns the scope with another user.
func (s Scope) WithUser(id string) Scope { s.User = id; return s }

// WithAgent returns the scope with another agent; empty is the one without.
func (s Scope) WithAgent(id string) Scope { s.Agent = id; return s }

// WithProject returns the scope with another project; empty is the one without.
func (s Scope) WithProject(id string) Scope { s.Project = id; return s }

// WithThread returns the scope with another active conversation; empty is none.
func (s Scope) WithThread(id string) Scope { s.Thread = id; return s }

// outgoing returns a context whose metadata say whose memory a call is about, and which call it is.
//
// What the caller's own metadata say about that is dropped: metadata that a host passes on from its caller could
// otherwise widen the scope, and a key that is sent twice is refused.
func outgoing(ctx context.Context, scope Scope, requestID, correlationID string) (context.Context, error) {
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	for _, entry := range [...]struct{ key, value string }{
		{"x-ironclaw-tenant-id", scope.Tenant},
		{"x-ironclaw-user-id", scope.User},
		{"x-ironclaw-agent-id", scope.Agent},
		{"x-ironclaw-project-id", scope.Project},
		{"x-ironclaw-thread-id", scope.Thread},
		{"x-ironclaw-request-id", requestID},
		{"x-ironclaw-correlation-id", correlationID},
	} {
		if err := carry(md, entry.key, entry.value); err != nil {
			return nil, err
		}
	}
	return metadata.NewOutgoingContext(ctx, md), nil
}

// carry sets the value under its key, in the one form that arrives unchanged: HTTP/2 headers are printable ASCII, and
// proxies and peers trim spaces around a value.
func carry(md metadata.MD, key, value string) error {
	md.Delete(key)
	md.Delete(key + "-bin")
	switch {
	case value == "":
	case !utf8.ValidString(value):
		return fmt.Errorf("ironclaw-memory: the value of %s isn't UTF-8", key)
	case isPrintable(value) && strings.Trim(value, " ") == value:
		md.Set(key, value)
	default:
		md.Set(key+"-bin", value)
	}
	return nil
}

func isPrintable(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
