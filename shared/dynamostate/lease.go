package dynamostate

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tidemark/shared/checkpoint"
)

var (
	_ checkpoint.States     = (*Store)(nil)
	_ checkpoint.LeaseStore = (*Store)(nil)
)

// pass is the key of the lease item.
const pass = own + "pass"

// TakeLease implements checkpoint.LeaseStore: checkpoint.Lease.Take as an update.
func (s *Store) TakeLease(ctx context.Context, holder string, tick time.Time) (int64, error) {
	u := newUpdate("attribute_not_exists(#served) OR #served < :served")
	u.assign("owner", owner(holder)).assign("served", number(tick.UnixMilli())).assign("v", number(version))
	u.name("epoch").value("zero", number(0)).value("one", number(1))
	u.set = append(u.set, "#epoch = if_not_exists(#epoch, :zero) + :one")
	before, _, err := s.updateLease(ctx, u.done())
	if err != nil {
		return 0, err
	}
	after, err := before.Take(holder, tick.Truncate(time.Millisecond))
	return after.Epoch, err
}

// RenewLease implements checkpoint.LeaseStore: checkpoint.Lease.Holds as an update, which a later taker cannot miss.
func (s *Store) RenewLease(ctx context.Context, holder string, epoch int64) error {
	u := newUpdate("#epoch = :epoch AND #owner = :owner").name("epoch", "owner").value("epoch", number(epoch)).value("owner", owner(holder))
	u.assign("renewed_at", number(time.Now().UnixMilli()))
	before, refused, err := s.updateLease(ctx, u.done())
	if err == nil && refused {
		err = before.Holds(holder, epoch)
	}
	return err
}

// updateLease applies an update and returns the lease as it was before, or, when the condition refused it, as it is.
func (s *Store) updateLease(ctx context.Context, u update) (before checkpoint.Lease, refused bool, err error) {
	item, refused, err := s.apply(ctx, map[string]types.AttributeValue{"partition": text(pass)}, u)
	if err != nil {
		return checkpoint.Lease{}, false, fmt.Errorf("update item %s of table %s: %w", pass, s.table, err)
	}
	r := reader{item: item}
	lease := checkpoint.Lease{Epoch: r.number("epoch", 0), Owner: r.text("owner"), Served: r.instant("served")}
	if r.err != nil {
		return lease, refused, fmt.Errorf("read item %s: %w", pass, r.err)
	}
	return lease, refused, nil
}
