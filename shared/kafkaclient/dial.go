package kafkaclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// dialer opens the connections to one cluster.
type dialer struct {
	secrets     Secrets
	tls         bool
	certificate string // ARN of the client's own certificate; empty: it has none
	authority   string // ARN of the brokers' certificate authority; empty: the system's
}

// dial connects, and encrypts where the cluster wants it. It reads the certificates' secrets each time.
func (d dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.config(ctx, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialFor)
	defer cancel()
	var tcp net.Dialer
	conn, err := tcp.DialContext(ctx, network, address)
	if err != nil || c == nil {
		return conn, err
	}
	encrypted := tls.Client(conn, c)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("TLS handshake with %s: %w", address, err), conn.Close())
	}
	return encrypted, nil
}

// config is how to encrypt a connection; nil is not at all.
func (d dialer) config(ctx context.Context, address string) (*tls.Config, error) {
	if !d.tls {
		return nil, nil //nolint:nilnil // see above
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if d.authority != "" {
		if c.RootCAs, err = readAuthority(ctx, d.secrets, d.authority); err != nil {
			return nil, err
		}
	}
	if d.certificate != "" {
		certificate, err := readCertificate(ctx, d.secrets, d.certificate)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{certificate}
	}
	return c, nil
}
