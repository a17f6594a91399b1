package memory

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"google.golang.org/grpc/metadata"
)

var errClearText = errors.New(
	"ironclaw-memory: a token would travel in the clear; give WithTLS, or a target on loopback or a Unix socket")

// tokenSource returns the API key or signed token to send now; nil stands for none.
type tokenSource func(context.Context) (string, error)

// authorize adds the credential to the metadata of one call.
func (s tokenSource) authorize(ctx context.Context) (context.Context, error) {
	if s == nil {
		return ctx, nil
	}
	token, err := s(ctx)
	if err != nil {
		return nil, fmt.Errorf("ironclaw-memory: no token for the call: %w", err)
	}
	if token == "" || strings.Contains(token, " ") || !isPrintable(token) {
		return nil, errors.New("ironclaw-memory: a token must be printable ASCII without spaces")
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	md.Set("authorization", "Bearer "+token)
	return metadata.NewOutgoingContext(ctx, md), nil
}

// isLocal tells whether what is sent to the target doesn't leave this machine.
func isLocal(target string) bool {
	scheme, rest, found := strings.Cut(target, ":")
	switch {
	case found && (scheme == "unix" || scheme == "unix-abstract"):
		return true
	case found && (scheme == "dns" || scheme == "passthrough"):
		authority, endpoint := "", rest
		if after, ok := strings.CutPrefix(rest, "//"); ok {
			authority, endpoint, _ = strings.Cut(after, "/")
		}
		// A name server of the target's own choice may say anything about a name, even about localhost.
		return isLoopback(hostOf(endpoint), authority == "")
	}
	return isLoopback(hostOf(target), true)
}

func hostOf(endpoint string) string {
	host := endpoint
	if colon := strings.LastIndex(endpoint, ":"); colon >= 0 && !strings.HasSuffix(endpoint, "]") &&
		(strings.Count(endpoint, ":") == 1 || strings.HasPrefix(endpoint, "[")) {
		host = endpoint[:colon]
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isLoopback(host string, named bool) bool {
	if host == "localhost" {
		return named
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
