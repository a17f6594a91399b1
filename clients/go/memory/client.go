package memory

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

// Client calls ironclaw-memory in one scope. It may be used by any number of goroutines at once.
//
// Every method returns an [*Error] when the call failed. A context without a deadline gets one of 10 seconds, for the
// whole call with its tries and the waits between them; [WithTimeout] sets another, [Timeout] does so for one call.
type Client struct {
	session   *session
	conn      *grpc.ClientConn
	memory    memoryv1.MemoryServiceClient
	lifecycle memoryv1.MemoryLifecycleServiceClient
	admin     memoryv1.MemoryAdminServiceClient
	events    memoryv1.MemoryEventServiceClient
}

// config is what the options of New set.
type config struct {
	tls     *tls.Config
	token   tokenSource
	timeout time.Duration
	dial    []grpc.DialOption
	pacing
}

// Option sets up a client.
type Option func(*config)

// WithTLS encrypts the connection; without it everything travels in the clear. [LoadTLS] makes a configuration from
// files, with a client certificate for mutual TLS.
func WithTLS(configuration *tls.Config) Option {
	return func(c *config) { c.tls = configuration }
}

// WithToken sends an API key or a signed token with every call. It is never sent in the clear beyond this machine:
// without [WithTLS] the target must be on loopback or a Unix socket.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (string, error) { return token, nil })
}

// WithTokenSource is [WithToken] for a credential that changes: source is asked at each call, with the call's context,
// and may be asked by several goroutines at once.
func WithTokenSource(source func(context.Context) (string, error)) Option {
	return func(c *config) { c.token = source }
}

// WithTimeout is the time for a whole call whose context has no deadline: 10 seconds by default; 0 for none.
func WithTimeout(timeout time.Duration) Option {
	return func(c *config) { c.timeout = timeout }
}

// WithRetry says how often and how patiently calls are repeated; [NoRetry] turns that off.
func WithRetry(policy RetryPolicy) Option {
	return func(c *config) { c.policy = policy.withDefaults() }
}

// WithDialOptions passes options to gRPC, over this client's own.
func WithDialOptions(options ...grpc.DialOption) Option {
	return func(c *config) { c.dial = append(c.dial, options...) }
}

// New returns a client for the service at target, such as "127.0.0.1:50051", "dns:///memory:50051" or
// "unix:///run/memory.sock", and for the scope, unless a call says otherwise. It connects with the first call.
//
// It fails when the target makes no sense, or when a token would travel in the clear beyond this machine.
func New(target string, scope Scope, options ...Option) (*Client, error) {
	c := config{timeout: 10 * time.Second}
	c.pacing = pacing{policy: RetryPolicy{}.withDefaults(), wait: sleep, random: rand.Float64}
	for _, option := range options {
		option(&c)
	}
	if c.token != nil && c.tls == nil && !isLocal(target) {
		return nil, errClearText
	}
	conn, err := grpc.NewClient(target, c.dialOptions()...)
	if err != nil {
		return nil, err
	}
	return clientOf(conn, &session{conn, scope, c.timeout, c.token, c.pacing}), nil
}

func (c *config) dialOptions() []grpc.DialOption {
	transport := insecure.NewCredentials()
	if c.tls != nil {
		transport = credentials.NewTLS(c.tls)
	}
	// A connection that failed refuses calls until its own back-off is over, which by default starts with a second.
	reconnect := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}
	return append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithUserAgent("ironclaw-memory-go/" + Version),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}),
		// A service config found in DNS could add a second layer of tries, without our rules.
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
	}, c.dial...)
}

func clientOf(conn *grpc.ClientConn, session *session) *Client {
	return &Client{
		session:   session,
		conn:      conn,
		memory:    memoryv1.NewMemoryServiceClient(session),
		lifecycle: memoryv1.NewMemoryLifecycleServiceClient(session),
		admin:     memoryv1.NewMemoryAdminServiceClient(session),
		events:    memoryv1.NewMemoryEventServiceClient(session),
	}
}

// Close closes the connection, also for the clients that WithScope made. Calls in flight are cancelled.
func (c *Client) Close() error {
	return c.conn.Close()
}

// Scope returns whose memory calls are about, unless one says otherwise.
func (c *Client) Scope() Scope {
	return c.session.scope
}

// WithScope returns a client for another scope over the same connection: closing one closes both.
func (c *Client) WithScope(scope Scope) *Client {
	twin := *c.session
	twin.scope = scope
	return clientOf(c.conn, &twin)
}

// Conn returns the connection for the generated stubs of memoryv1: calls over it have the client's scope, credential,
// deadline, repetition and errors, and take every [CallOption].
func (c *Client) Conn() grpc.ClientConnInterface {
	return c.session
}
