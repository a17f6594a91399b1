package memory

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// LoadTLS returns a TLS configuration with what is read from PEM files, once: a rotated certificate needs a new client.
//
// Authorities are the certificates to trust; empty means the system's. Certificate and key are this client's own, for
// mutual TLS; both or neither.
func LoadTLS(authorities, certificate, key string) (*tls.Config, error) {
	if (certificate == "") != (key == "") {
		return nil, errors.New("ironclaw-memory: mutual TLS needs both a certificate and its key")
	}
	configuration := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := trust(configuration, authorities); err != nil {
		return nil, err
	}
	if certificate == "" {
		return configuration, nil
	}
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	configuration.Certificates = []tls.Certificate{pair}
	return configuration, nil
}

func trust(configuration *tls.Config, authorities string) error {
	if authorities == "" {
		return nil
	}
	pem, err := os.ReadFile(authorities)
	if err != nil {
		return err
	}
	configuration.RootCAs = x509.NewCertPool()
	if !configuration.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("ironclaw-memory: %s holds no certificate", authorities)
	}
	return nil
}
