package kafkaclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/youmark/pkcs8"
)

// The errors here name secrets by their ARN and say nothing of what they hold: those of encoding/json would quote it.

// login is a secret for SASL, as the Kafka triggers want it.
type login struct{ Username, Password string }

func readLogin(ctx context.Context, secrets Secrets, arn string) (login, error) {
	text, err := secrets.Secret(ctx, arn)
	if err != nil {
		return login{}, err
	}
	var l login
	if json.Unmarshal([]byte(text), &l) != nil || l.Username == "" || l.Password == "" {
		return login{}, fmt.Errorf(`read secret %s: want {"username": ..., "password": ...}`, arn)
	}
	return l, nil
}

// readCertificate reads a client certificate with its chain and key, as the Kafka triggers want it. The key may be PKCS#8,
// PKCS#1 or SEC 1; encrypted it must be PKCS#8 with PBES2, as openssl pkcs8 -topk8 makes it.
func readCertificate(ctx context.Context, secrets Secrets, arn string) (tls.Certificate, error) {
	text, err := secrets.Secret(ctx, arn)
	if err != nil {
		return tls.Certificate{}, err
	}
	var s struct{ Certificate, PrivateKey, PrivateKeyPassword string }
	if json.Unmarshal([]byte(text), &s) != nil || s.Certificate == "" || s.PrivateKey == "" {
		return tls.Certificate{}, fmt.Errorf(`read secret %s: want {"certificate": ..., "privateKey": ..., "privateKeyPassword": ...}, the last if the key is encrypted`, arn)
	}
	key, err := decrypted([]byte(s.PrivateKey), []byte(s.PrivateKeyPassword))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read private key of secret %s: %w", arn, err)
	}
	pair, err := tls.X509KeyPair([]byte(s.Certificate), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read certificate of secret %s: %w", arn, err)
	}
	return pair, nil
}

// decrypted returns a PEM key that is not encrypted.
func decrypted(key, password []byte) ([]byte, error) {
	block, _ := pem.Decode(key)
	switch {
	case block == nil:
		return nil, errors.New("it is not PEM")
	case block.Headers["DEK-Info"] != "":
		return nil, errors.New("it is encrypted in a way without authentication: convert it by openssl pkcs8 -topk8")
	case block.Type != "ENCRYPTED PRIVATE KEY":
		return key, nil
	case len(password) == 0:
		return nil, errors.New("it is encrypted and the secret has no privateKeyPassword")
	}
	parsed, _, err := pkcs8.ParsePrivateKey(block.Bytes, password)
	if err != nil {
		return nil, fmt.Errorf("decrypt (PBES2 is supported, PBES1 is not): %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(parsed)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// readAuthority reads the certificates that the brokers' are to be verified by: PEM, alone or as {"certificate": ...}, as
// the Kafka triggers want it.
func readAuthority(ctx context.Context, secrets Secrets, arn string) (*x509.CertPool, error) {
	text, err := secrets.Secret(ctx, arn)
	if err != nil {
		return nil, err
	}
	var s struct{ Certificate string }
	if json.Unmarshal([]byte(text), &s) != nil {
		s.Certificate = text
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(s.Certificate)) {
		return nil, fmt.Errorf(`read secret %s: want PEM certificates, or {"certificate": ...} with them`, arn)
	}
	return pool, nil
}
