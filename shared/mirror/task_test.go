package mirror_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/watermark"
)

// want checks the outcome of a failed delivery.
func want(t *testing.T, o mirror.Outcome, target error, undelivered ...int64) {
	t.Helper()
	if !errors.Is(o.Err, target) {
		t.Errorf("err = %v, want %v", o.Err, target)
	}
	if diff := cmp.Diff(undelivered, o.Undelivered); diff != "" {
		t.Errorf("undelivered (-want +got):\n%s", diff)
	}
}

// position checks where the item stands and that its claim was released.
func (c *clusters) position(t *testing.T, next, downstream int64) watermark.State {
	t.Helper()
	s := c.item(t)
	if s.Next != next || s.DownstreamNext != downstream || s.Owner != "" || len(s.Producers) > 0 {
		t.Errorf("item = next %d, downstream next %d, owner %q, producers %v, want %d, %d, released",
			s.Next, s.DownstreamNext, s.Owner, s.Producers, next, downstream)
	}
	return s
}

// values are the values on the target.
func (c *clusters) values() []string {
	var all []string
	for _, r := range c.target.log {
		all = append(all, string(r.Value))
	}
	return all
}

func (c *clusters) sameLogs(t *testing.T, n int) {
	t.Helper()
	var want []string
	for _, r := range c.source.records[:n] {
		want = append(want, string(r.Value))
	}
	if diff := cmp.Diff(want, c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}

func TestRecordsAreCopiedByteForByte(t *testing.T) {
	t.Parallel()
	c := newClusters(3)
	c.source.records[1].Key, c.source.records[1].Value = nil, nil
	c.source.records[2].Key, c.source.records[2].Value, c.source.records[2].Headers = []byte{}, []byte{}, nil
	c.source.records[2].Timestamp = time.UnixMilli(-1)
	if o := c.run(t, c.deliver(0, 2)); o.Err != nil || o.Undelivered != nil {
		t.Fatalf("outcome = %+v, want success", o)
	}
	for i, got := range c.target.log {
		from := c.source.records[i]
		want := &kgo.Record{
			Topic: "us.orders", Offset: int64(i), Key: from.Key, Value: from.Value, Headers: from.Headers, Timestamp: from.Timestamp,
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(kgo.RecordAttrs{}), cmp.Comparer(time.Time.Equal), ignoreContext()); diff != "" {
			t.Errorf("record %d (-want +got):\n%s", i, diff)
		}
	}
	if s := c.position(t, 3, 3); s.TopicID != "first" || s.Stall != nil || s.AdvancedAt.IsZero() || !s.RecordTimestamp.Equal(time.UnixMilli(-1)) {
		t.Errorf("item = %+v", s)
	}
	if c.target.created != 1 {
		t.Errorf("remote topic has %d partitions, want the source's 1", c.target.created)
	}
}

func ignoreContext() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Context" }, cmp.Ignore())
}

func TestRedeliveryIsDropped(t *testing.T) {
	t.Parallel()
	c := newClusters(6)
	for _, d := range []mirror.Delivery{c.deliver(0, 3), c.deliver(0, 3), c.deliver(2, 5), c.deliver(0, 1)} {
		if o := c.run(t, d); o.Err != nil {
			t.Fatalf("delivery of %v: %v", d.Offsets, o.Err)
		}
	}
	c.sameLogs(t, 6)
	c.position(t, 6, 6)
	if c.source.reads != 2 {
		t.Errorf("the source was read %d times, want 2: at the first contact, and because the last delivery lacks the record mirrored last", c.source.reads)
	}
}

func TestStallCountsItsAttemptsAndIsCleared(t *testing.T) {
	t.Parallel()
	c := newClusters(4)
	c.source.err = errors.New("connection refused")
	c.run(t, c.deliver(1, 2))
	first := c.item(t).Stall
	c.run(t, c.deliver(1, 2))
	c.source.err = nil
	if again := c.item(t).Stall; first == nil || again == nil || again.Attempts != 2 || !again.Since.Equal(first.Since) {
		t.Errorf("stall = %+v, then %+v, want two attempts since the first", first, again)
	}
	if o := c.run(t, c.deliver(0, 3)); o.Err != nil || c.item(t).Stall != nil {
		t.Errorf("outcome %+v, stall %+v, want success and none", o, c.item(t).Stall)
	}
}

func TestFaultStopsBehindWhatCouldBeRead(t *testing.T) {
	t.Parallel()
	c := newClusters(4)
	fault := errors.New("not base64")
	d := c.deliver(0, 1)
	d.Fault, d.Unread = fault, []int64{2, 3}
	want(t, c.run(t, d), fault, 2, 3)
	c.position(t, 2, 2)
	none := mirror.Delivery{Key: "orders-0", Partition: orders, Fault: fault, Unread: []int64{-1}}
	want(t, c.run(t, none), fault, -1)
	c.position(t, 2, 2)
}

func TestRefusedRecordEndsTheSendList(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*clusters){
		"too large": func(c *clusters) {
			c.target.limits.MaxMessageBytes = 500
			c.source.records[1].Value = make([]byte, 500)
		},
		"too old": func(c *clusters) {
			c.target.limits.Before = time.Hour
			c.source.records[1].Timestamp = time.Now().Add(-2 * time.Hour)
		},
		"too new": func(c *clusters) {
			c.target.limits.After = time.Hour
			c.source.records[1].Timestamp = time.Now().Add(2 * time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClusters(3)
			change(c)
			o := c.run(t, c.deliver(0, 2))
			want(t, o, nil)
			if refused := (*mirror.RefusedError)(nil); !errors.As(o.Parked, &refused) || refused.Offset != 1 {
				t.Errorf("parked = %v, want a RefusedError at 1", o.Parked)
			}
			c.sameLogs(t, 1)
			c.position(t, 1, 1)
		})
	}
}

func TestPartialFailureCommitsTheDurablePrefix(t *testing.T) {
	t.Parallel()
	c := newClusters(5)
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.append(records[:2])
		return 2, kerr.MessageTooLarge
	}
	want(t, c.run(t, c.deliver(0, 4)), kerr.MessageTooLarge, 2, 3, 4)
	c.position(t, 2, 2)
}

func TestUnknownOutcomeKeepsTheClaimAndIsSettled(t *testing.T) {
	t.Parallel()
	c := newClusters(5)
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.append(records[:4]) // two acknowledged, two not
		return 2, mirror.ErrUnknown
	}
	want(t, c.run(t, c.deliver(0, 4)), mirror.ErrUnknown, 2, 3, 4)
	if s := c.item(t); s.Owner == "" || len(s.Producers) != 1 || s.Next != 2 || s.DownstreamNext != 2 {
		t.Errorf("item = %+v, want next 2 and the claim as it was", s)
	}
	c.target.produce = nil
	if o := c.run(t, c.deliver(2, 4)); o.Err != nil {
		t.Fatalf("next delivery: %v", o.Err)
	}
	c.sameLogs(t, 5)
	c.position(t, 5, 5)
}

func TestTailIsSettledWithWhatTheDeliveryLacks(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]func(*clusters) mirror.Delivery{
		"shorter than the tail":   func(c *clusters) mirror.Delivery { return c.deliver(0, 1) },
		"wholly below next":       func(c *clusters) mirror.Delivery { return c.deliver(0, 0) },
		"begins inside the tail":  func(c *clusters) mirror.Delivery { return c.deliver(3, 4) },
		"nothing could be read":   func(*clusters) mirror.Delivery { return mirror.Delivery{Key: "orders-0", Partition: orders} },
		"the records of the tail": func(c *clusters) mirror.Delivery { return c.deliver(1, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClusters(6)
			c.run(t, c.deliver(0, 0))
			c.target.produce = func(records []*kgo.Record) (int, error) {
				c.target.append(records)
				return 0, mirror.ErrUnknown
			}
			c.run(t, c.deliver(1, 3))
			c.target.produce = nil
			if o := c.run(t, d(c)); o.Err != nil {
				t.Fatalf("outcome %+v", o)
			}
			if o := c.run(t, c.deliver(4, 5)); o.Err != nil {
				t.Fatalf("outcome of the rest %+v", o)
			}
			c.sameLogs(t, 6)
			c.position(t, 6, 6)
		})
	}
}

func TestFirstContactTakesTheEarlierStart(t *testing.T) {
	t.Parallel()
	c := newClusters(5)
	c.source.start = 4 // retention moved on after the trigger had read 2 and 3
	if o := c.run(t, c.deliver(2, 4)); o.Err != nil {
		t.Fatal(o.Err)
	}
	if got := c.values(); !slices.Equal(got, []string{"value 2", "value 3", "value 4"}) {
		t.Errorf("target = %v", got)
	}
	c.position(t, 5, 3)
}

func TestWholeInvocationFailures(t *testing.T) {
	t.Parallel()
	unreachable := errors.New("connection refused")
	for name, test := range map[string]struct {
		change func(*clusters)
		want   error
	}{
		"same cluster":       {func(c *clusters) { c.target.id = c.source.id }, mirror.ErrSameCluster},
		"unreachable source": {func(c *clusters) { c.source.err = unreachable }, unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClusters(3)
			test.change(c)
			want(t, c.run(t, c.deliver(0, 2)), test.want, 0, 1, 2)
			if len(c.target.log) > 0 {
				t.Errorf("the target holds %d records, want none", len(c.target.log))
			}
			if s := c.item(t); s.Owner != "" || s.Begun() || s.Stall == nil {
				t.Errorf("item = %+v, want a released claim that says why", s)
			}
		})
	}
}

func TestReasonInTheItemIsShort(t *testing.T) {
	t.Parallel()
	c := newClusters(2)
	c.source.err = errors.New(strings.Repeat("é", 4000))
	c.run(t, c.deliver(0, 1))
	if s := c.item(t).Stall; s == nil || len(s.Reason) > 400 {
		t.Errorf("stall = %+v, want a reason of 400 bytes at most", s)
	}
}

func TestHangingTargetLeavesTimeToAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClusters(3)
		c.target.hang = true
		const timeout = 10 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		task := mirror.NewTask(&c.source, &c.target, &c.state, func(topic string) (string, error) { return topic, nil }, mirror.Options{})
		start := time.Now()
		outcomes := task.Run(ctx, []mirror.Delivery{c.deliver(0, 2)})
		want(t, outcomes[0], context.DeadlineExceeded, 0, 1, 2)
		if took := time.Since(start); took != timeout-2*time.Second {
			t.Errorf("the answer came after %v, want it 2 s before the deadline of %v", took, timeout)
		}
	})
}

func TestLiveClaimIsWaitedForAsLongAsThereIsTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		timeout time.Duration
		want    error
	}{
		{"enough", time.Minute, nil},
		{"too little", 20 * time.Second, (*watermark.HeldError)(nil)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newClusters(3)
				now := time.Now()
				if _, err := c.state.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "dead", Now: now, Deadline: now.Add(20 * time.Second)}); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				task := mirror.NewTask(&c.source, &c.target, &c.state, func(topic string) (string, error) { return topic, nil }, mirror.Options{})
				o := task.Run(ctx, []mirror.Delivery{c.deliver(0, 2)})[0]
				held := (*watermark.HeldError)(nil)
				if test.want == nil && (o.Err != nil || time.Since(now) < 20*time.Second) {
					t.Errorf("outcome %+v after %v, want success once its deadline is over", o, time.Since(now))
				}
				if test.want != nil && (!errors.As(o.Err, &held) || len(o.Undelivered) != 3 || len(c.target.log) > 0) {
					t.Errorf("outcome %+v, want a HeldError and nothing produced", o)
				}
			})
		})
	}
}
