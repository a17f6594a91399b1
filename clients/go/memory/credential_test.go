package memory

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"testing"

	memoryv1 "github.com/ironclaw-memory/clients/go/memory/v1"
)

func TestATokenIsOnlySentInTheClearOnThisMachine(t *testing.T) {
	for target, local := range map[string]bool{
		"127.0.0.1:50051": true, "127.8.9.1:1": true, "[::1]:50051": true, "localhost:50051": true, "localhost": true,
		"dns:///localhost:50051": true, "dns:127.0.0.1:1": true, "passthrough:///[::1]:1": true,
		"dns://8.8.8.8/127.0.0.1:1": true, "unix:/run/a.sock": true, "unix:///run/a.sock": true, "unix-abstract:a": true,
		"[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:50051":       false, "memory.example:50051": false, "dns:///memory.example:50051": false,
		"dns://8.8.8.8/localhost:1": false, "localhost.example:1": false, "127.0.0.1.example:1": false, "0.0.0.0:1": false,
		"[::]:1": false, "xds:///localhost": false, "dns://localhost/memory.example:1": false,
		"dns:///memory.example/localhost": false,
	} {
		client, err := New(target, Scope{}, WithToken("key"))
		if errors.Is(err, errClearText) == local {
			t.Errorf("%s: %v", target, err)
		}
		if client != nil {
			_ = client.Close()
		}
	}
	client, err := New("memory.example:50051", Scope{}, WithToken("key"), WithTLS(&tls.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}

func TestATokenIsAskedForAtEachCall(t *testing.T) {
	asked := 0
	script, client, _ := connect(t, WithTokenSource(func(context.Context) (string, error) {
		asked++
		return fmt.Sprintf("key-%d", asked), nil
	}))
	script.then(busy).then(&memoryv1.ReadResponse{}).then(&memoryv1.ReadResponse{})
	_, _ = client.Read(t.Context(), "a")
	_, _ = client.Read(t.Context(), "a")
	for n, want := range []string{"Bearer key-1", "Bearer key-1", "Bearer key-2"} {
		if got := script.calls()[n].value("authorization"); got != want {
			t.Errorf("try %d sends %q", n, got)
		}
	}
}

func TestWithoutAUsableTokenNothingIsSent(t *testing.T) {
	broken := errors.New("the vault is sealed")
	for token, failure := range map[string]error{"": nil, "a b": nil, "schlüssel": nil, "a\n": nil, "key": broken} {
		script, client, _ := connect(t, WithTokenSource(func(context.Context) (string, error) { return token, failure }))
		_, err := client.Read(t.Context(), "a")
		if err == nil || (failure != nil && !errors.Is(err, failure)) || len(script.calls()) != 0 {
			t.Errorf("%q, %v: %v", token, failure, err)
		}
	}
}

func TestMutualTLSNeedsBothFiles(t *testing.T) {
	if _, err := LoadTLS("", "client.pem", ""); err == nil {
		t.Error("half an identity was taken")
	}
	if _, err := LoadTLS("no/such/file", "", ""); err == nil {
		t.Error("a missing file was taken")
	}
	if _, err := LoadTLS("tls_test.go", "", ""); err == nil {
		t.Error("a file without a certificate was taken")
	}
}
