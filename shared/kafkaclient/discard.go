package kafkaclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// discarding is a producer's way to dial: closing its connections makes the kernel discard what it has not sent yet, also
// when the process is killed. Else records of an abandoned client would follow, up to minutes later. dial is the value of
// the cluster's kgo.Dialer.
func discarding(dial any) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		open, ok := dial.(func(ctx context.Context, network, address string) (net.Conn, error))
		if !ok {
			return nil, fmt.Errorf("dial %s: the dialer is a %T", address, dial)
		}
		conn, err := open(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return discard(conn), nil
	}
}

// discardedConn is closed without a farewell: TLS's would wait, for seconds, behind what the peer does not take.
type discardedConn struct {
	net.Conn
	raw net.Conn // below TLS
}

// Close implements net.Conn.
func (c discardedConn) Close() error { return c.raw.Close() }

func discard(conn net.Conn) net.Conn {
	raw := conn
	if encrypted, ok := conn.(*tls.Conn); ok {
		raw = encrypted.NetConn()
	}
	if tcp, ok := raw.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already has nothing to send
	}
	return discardedConn{Conn: conn, raw: raw}
}
