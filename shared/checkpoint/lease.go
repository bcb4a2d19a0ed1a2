package checkpoint

import (
	"context"
	"errors"
	"time"
)

// Lease is the item that makes passes run one at a time. The zero value is a flow that never had one.
type Lease struct {
	Epoch  int64     // rises by one with every tick that is taken
	Owner  string    // nonce of the invocation that took the last tick
	Served time.Time // scheduled time of the last tick taken, in milliseconds
}

// ErrServed says that a tick is not later than one that was taken already: answer success, do nothing.
var ErrServed = errors.New("tick was served already")

// ErrSuperseded says that a later tick has taken over: stop, write nothing more.
var ErrSuperseded = errors.New("a later tick has taken over")

// Take decides whether an invocation may serve a tick. A later tick takes over from an earlier one, whose invocation may
// be dead or late: it finds out when it renews. An answer that was lost shows as one's own nonce.
func (l Lease) Take(owner string, tick time.Time) (Lease, error) {
	if l.Owner == owner && l.Served.Equal(tick) {
		return l, nil
	}
	if !l.Served.IsZero() && !tick.After(l.Served) {
		return l, ErrServed
	}
	return Lease{Epoch: l.Epoch + 1, Owner: owner, Served: tick}, nil
}

// Holds decides whether an invocation still has the lease that it took as epoch.
func (l Lease) Holds(owner string, epoch int64) error {
	if l.Owner != owner || l.Epoch != epoch {
		return ErrSuperseded
	}
	return nil
}

// LeaseStore holds the lease. Both calls are atomic and linearizable.
type LeaseStore interface {
	// TakeLease is Lease.Take; it returns the epoch.
	TakeLease(ctx context.Context, owner string, tick time.Time) (epoch int64, err error)
	// RenewLease is Lease.Holds.
	RenewLease(ctx context.Context, owner string, epoch int64) error
}
