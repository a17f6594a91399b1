package memory_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironclaw-memory/clients/go/internal/servertest"
	"github.com/ironclaw-memory/clients/go/memory"
)

// authority issues certificates that nobody trusts but these tests.
type authority struct {
	t           *testing.T
	file        string // its own certificate
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, _ = a.sign(a.certificate)
	return a
}

// issue returns the files of a certificate for the name and of its key.
func (a *authority) issue(name string) (certificate, key string) {
	return a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
}

func (a *authority) sign(template *x509.Certificate) (certificate, key string) {
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.key == nil {
		a.key = secret
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &secret.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.write("CERTIFICATE", signed), a.write("PRIVATE KEY", encoded)
}

func (a *authority) write(kind string, content []byte) string {
	file := filepath.Join(a.t.TempDir(), "pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// serve runs a service of the test's own.
func serve(t *testing.T, data string, arguments ...string) string {
	t.Helper()
	server, err := servertest.Start(data, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server.Target
}

// trusting returns the option that trusts an authority, with the client's own certificate if there is one.
func trusting(t *testing.T, a *authority, certificate, key string) memory.Option {
	t.Helper()
	configuration, err := memory.LoadTLS(a.file, certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	return memory.WithTLS(configuration)
}

// createKey returns an API key for one user.
func createKey(t *testing.T, data, tenant, user string) string {
	t.Helper()
	command, err := servertest.Command("keys", "create", "--data-dir", data, "--tenant", tenant, "--user", user, "--name", "t")
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	key, _, _ := strings.Cut(string(output), "\n")
	return key
}

func TestAnAPIKeyOverTLS(t *testing.T) {
	authority, data := newAuthority(t), filepath.Join(t.TempDir(), "data")
	token := memory.WithToken(createKey(t, data, t.Name(), "ann"))
	certificate, key := authority.issue("memory.example")
	target := serve(t, data, "--tls-certificate", certificate, "--tls-key", key)
	tls, ctx := trusting(t, authority, "", ""), t.Context()

	keyed := open(t, target, tls, token)
	if _, err := keyed.Write(ctx, "User likes tea.", memory.Target("memory")); err != nil {
		t.Fatal(err)
	}
	pinned := keyed.WithScope(memory.Scope{}) // the key says which tenant and which user
	if document, err := pinned.Read(ctx, "MEMORY.md"); err != nil || document.GetContent() != "User likes tea.\n" {
		t.Error(document, err)
	}
	for reason, client := range map[memory.Reason]*memory.Client{
		memory.ReasonCredentialsMissing: open(t, target, tls),
		memory.ReasonCredentialsInvalid: open(t, target, tls, memory.WithToken("icm_nobodys")),
		memory.ReasonScopeForbidden:     keyed.WithScope(memory.Scope{Tenant: t.Name(), User: "bob"}),
	} {
		if _, err := client.Read(ctx, "MEMORY.md"); !errors.Is(err, reason) {
			t.Errorf("not %s: %v", reason, err)
		}
	}
	_, err := keyed.DeleteDocument(ctx, "MEMORY.md")
	var failure *memory.Error
	if !errors.As(err, &failure) || failure.Permission() != "admin" || !errors.Is(err, memory.ErrForbidden) {
		t.Error(err)
	}
	for name, client := range map[string]*memory.Client{
		"another authority": open(t, target, trusting(t, newAuthority(t), "", ""), token, memory.WithRetry(memory.NoRetry)),
		"in the clear":      open(t, target, memory.WithRetry(memory.NoRetry)),
	} {
		if _, err := client.Read(ctx, "MEMORY.md"); !errors.Is(err, memory.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestACertificateCanBeTheCredential(t *testing.T) {
	authority, folder := newAuthority(t), t.TempDir()
	grants := filepath.Join(folder, "grants.toml")
	grant := "['host.example']\ntenant = '" + t.Name() + "'\nusers = 'any'\npermissions = ['read', 'write']\n"
	if err := os.WriteFile(grants, []byte(grant), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate, key := authority.issue("memory.example")
	target := serve(t, filepath.Join(folder, "data"), "--tls-certificate", certificate, "--tls-key", key,
		"--tls-client-ca", authority.file, "--mtls-grants", grants)
	certificate, key = authority.issue("host.example")
	client := open(t, target, trusting(t, authority, certificate, key))
	if _, err := client.Write(t.Context(), "User likes tea.", memory.Target("memory")); err != nil {
		t.Fatal(err)
	}
	certificate, key = authority.issue("stranger.example")
	stranger := open(t, target, trusting(t, authority, certificate, key))
	if _, err := stranger.Read(t.Context(), "MEMORY.md"); !errors.Is(err, memory.ErrUnauthenticated) {
		t.Error(err)
	}
	nobody := open(t, target, trusting(t, authority, "", ""), memory.WithRetry(memory.NoRetry))
	if _, err := nobody.Read(t.Context(), "MEMORY.md"); !errors.Is(err, memory.ErrUnreachable) {
		t.Error(err)
	}
}
