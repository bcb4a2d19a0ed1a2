package mirror_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mirror"
	"tidemark/shared/watermark"
)

// said are values of the source's records from first to last, inclusive, less those left out.
func said(first, last int, without ...int) []string {
	var all []string
	for i := first; i <= last; i++ {
		if !slices.Contains(without, i) {
			all = append(all, fmt.Sprint("value ", i))
		}
	}
	return all
}

// without takes records out of the source, as compaction does.
func (c *clusters) without(offsets ...int64) {
	c.source.records = slices.DeleteFunc(c.source.records, func(r *kgo.Record) bool { return slices.Contains(offsets, r.Offset) })
}

// regrow cuts the source at an offset and lets it grow again up to an end with other records.
func (c *clusters) regrow(at, end int64) {
	c.source.records = c.source.records[:at]
	for offset := at; offset < end; offset++ {
		r := record(offset)
		r.Value = fmt.Append(nil, "new ", offset)
		c.source.records = append(c.source.records, r)
	}
	c.source.end = end
}

// TestDeliveriesAreRepaired mirrors 0 to 2 of seven records, lets something happen, and delivers what a test says.
func TestDeliveriesAreRepaired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		change      func(*clusters)
		first, last int64
		dropped     []int64 // that the trigger does not bring
		want        []string
		next, lost  int64
	}{
		{"hole before the delivery", func(*clusters) {}, 5, 6, nil, said(0, 6), 7, 0},
		{"hole inside the delivery", func(*clusters) {}, 3, 6, []int64{4}, said(0, 6), 7, 0},
		{"compacted", func(c *clusters) { c.without(3, 5) }, 4, 6, nil, said(0, 6, 3, 5), 7, 0},
		{"expired", func(c *clusters) { c.source.start = 5 }, 6, 6, nil, said(0, 6, 3, 4), 7, 2},
		{"expired, but delivered", func(c *clusters) { c.source.start = 5 }, 3, 6, nil, said(0, 6), 7, 0},
		{"topic made again, offset in place", func(c *clusters) {
			c.source.topicID = "second"
			c.regrow(0, 5)
		}, 3, 4, nil, append(said(0, 2), "new 0", "new 1", "new 2", "new 3", "new 4"), 5, 0},
		{"truncated and regrown", func(c *clusters) { c.regrow(1, 5) }, 1, 4, nil, append(said(0, 2), "new 1", "new 2", "new 3", "new 4"), 5, 0},
		{"truncated below what was mirrored", func(c *clusters) { c.regrow(2, 2) }, 0, 1, nil, said(0, 2), 2, 0},
		{"record mirrored last compacted away", func(c *clusters) { c.without(2) }, 0, 1, nil, said(0, 2), 3, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newClusters(7)
			if o := c.run(t, c.deliver(0, 2)); o.Err != nil {
				t.Fatal(o.Err)
			}
			test.change(c)
			d := c.deliver(test.first, test.last)
			for _, offset := range test.dropped {
				i := slices.Index(d.Offsets, offset)
				d.Offsets, d.Records = slices.Delete(d.Offsets, i, i+1), slices.Delete(d.Records, i, i+1)
			}
			if o := c.run(t, d); o.Err != nil || o.Parked != nil {
				t.Fatalf("outcome %+v", o)
			}
			if diff := cmp.Diff(test.want, c.values()); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
			if s := c.item(t); s.Next != test.next || s.Lost != test.lost || s.Owner != "" || s.Stall != nil {
				t.Errorf("item = next %d, lost %d, owner %q, stall %+v, want %d, %d, released", s.Next, s.Lost, s.Owner, s.Stall, test.next, test.lost)
			}
		})
	}
}

// TestOldLogIsClosed: what was read of the log before it was deleted goes before anything of the new one.
func TestOldLogIsClosed(t *testing.T) {
	t.Parallel()
	c := newClusters(6)
	c.run(t, c.deliver(0, 2))
	d := c.deliver(3, 5)
	c.source.topicID = "second"
	c.regrow(0, 2)
	if o := c.run(t, d); o.Err != nil {
		t.Fatal(o.Err)
	}
	if diff := cmp.Diff(append(said(0, 5), "new 0", "new 1"), c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	if s := c.position(t, 2, 8); s.TopicID != "second" {
		t.Errorf("topic id = %s, want the new one", s.TopicID)
	}
}

func TestOpenTransactionIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := newClusters(7)
	c.run(t, c.deliver(0, 2))
	d := c.deliver(5, 6)
	c.source.end = 4 // stable up to there; the log goes on
	c.source.logEnd = 7
	want(t, c.run(t, d), mirror.ErrUnstable, 5, 6)
	c.position(t, 3, 3)
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	c := newClusters(100)
	c.options.Chunk = 1000 // several commits
	c.without(99)
	if err := c.catchUp(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(said(0, 98), c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	epoch := c.position(t, 99, 99).Epoch
	if err := c.catchUp(t); err != nil || len(c.values()) != 99 {
		t.Errorf("second catch-up: %v, %d records on the target", err, len(c.values()))
	}
	if s := c.position(t, 99, 99); epoch != 1 || s.Epoch != 2 {
		t.Errorf("epochs %d and %d, want one claim a catch-up", epoch, s.Epoch)
	}
}

func TestCatchUpLeavesALiveClaimAlone(t *testing.T) {
	t.Parallel()
	c := newClusters(3)
	now := time.Now()
	if _, err := c.state.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "alive", Now: now, Deadline: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if err := c.catchUp(t); err != nil || len(c.values()) > 0 || c.item(t).Owner != "alive" {
		t.Errorf("catch-up: %v, %d records, owner %q, want it to leave the partition alone", err, len(c.values()), c.item(t).Owner)
	}
}

// TestRefusedRecordParksAndHeals: what begins behind the refused record is left, until the target's limit is raised.
func TestRefusedRecordParksAndHeals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClusters(4)
		c.target.limits.MaxMessageBytes = 500
		c.source.records[1].Value = make([]byte, 500)
		if o := c.run(t, c.deliver(0, 1)); o.Parked == nil || o.Undelivered != nil {
			t.Fatalf("outcome %+v, want it parked", o)
		}
		if s := c.item(t).Stall; s == nil || s.Kind != watermark.Refused || s.Offset != 1 || s.RetryAt.IsZero() {
			t.Fatalf("stall = %+v, want a refused record at 1, tried again later", s)
		}
		if o := c.run(t, c.deliver(2, 3)); o.Parked == nil || len(c.values()) != 1 {
			t.Errorf("outcome %+v, %d records on the target, want the delivery left", o, len(c.values()))
		}
		c.target.limits.MaxMessageBytes = 0
		time.Sleep(time.Hour)
		if err := c.catchUp(t); err != nil || len(c.values()) != 4 || c.item(t).Stall != nil {
			t.Errorf("catch-up: %v, %d records, stall %+v, want it healed", err, len(c.values()), c.item(t).Stall)
		}
	})
}

// TestTransientFailuresParkBesideOthersOnly: parking spares batch-mates; where there are none, the trigger had better wait.
func TestTransientFailuresParkBesideOthersOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClusters(3)
		unwell := errors.New("not enough replicas")
		c.target.produce = func([]*kgo.Record) (int, error) { return 0, unwell }
		for range 5 {
			o := c.run(t, c.deliver(0, 2))
			want(t, o, o.Err, 0, 1, 2)
		}
		if s := c.item(t).Stall; s == nil || s.Kind != watermark.Transient || s.Attempts != 3 {
			t.Errorf("stall = %+v, want three attempts and then a pause", s)
		}
	})
}

func TestRefusedRecordGoesToTheDeadLetterQueue(t *testing.T) {
	t.Parallel()
	c := newClusters(4)
	c.options.DeadLetter = dead
	c.target.limits.MaxMessageBytes = 500
	c.source.records[1].Value = make([]byte, 500)
	if o := c.run(t, c.deliver(0, 3)); o.Err != nil || o.Parked != nil {
		t.Fatalf("outcome %+v", o)
	}
	if diff := cmp.Diff(said(0, 3, 1), c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	if s := c.position(t, 4, 3); s.Skips != 1 {
		t.Errorf("skips = %d, want 1", s.Skips)
	}
	if len(c.target.letters) != 1 || len(c.target.letters[0].Value) != 500 {
		t.Fatalf("%d letters, want the refused record", len(c.target.letters))
	}
	got := map[string]string{}
	for _, h := range c.target.letters[0].Headers[2:] {
		got[h.Key] = string(h.Value)
	}
	if got["__connect.errors.topic"] != "orders" || got["__connect.errors.partition"] != "0" || got["__connect.errors.offset"] != "1" || got["__connect.errors.exception.message"] == "" {
		t.Errorf("headers = %v", got)
	}
}

// TestForeignProducersAreFenced: those that an earlier owner left, and not the own one.
func TestForeignProducersAreFenced(t *testing.T) {
	t.Parallel()
	c := newClusters(5)
	c.target.fences = true
	c.target.produce = func([]*kgo.Record) (int, error) { return 0, mirror.ErrUnknown }
	c.run(t, c.deliver(0, 4))
	c.target.produce = nil
	if o := c.run(t, c.deliver(0, 4)); o.Err != nil {
		t.Fatal(o.Err)
	}
	if !slices.Equal(c.target.fenced, []int64{1}) {
		t.Errorf("fenced producers %d, want the first owner's", c.target.fenced)
	}
	c.sameLogs(t, 5)
}

func TestStartByTime(t *testing.T) {
	t.Parallel()
	c := newClusters(5)
	c.options.Start.At = time.Now()
	if o := c.run(t, c.deliver(0, 4)); o.Err != nil {
		t.Fatal(o.Err)
	}
	if diff := cmp.Diff(said(2, 4), c.values()); diff != "" { // where the source says that time is
		t.Errorf("target (-want +got):\n%s", diff)
	}
}

// TestFirstDeliveryOfAnotherLog: what the trigger read before the topic was deleted and made again is not of this log.
func TestFirstDeliveryOfAnotherLog(t *testing.T) {
	t.Parallel()
	c := newClusters(6)
	d := c.deliver(0, 5)
	c.regrow(0, 3)
	if o := c.run(t, d); o.Err != nil {
		t.Fatal(o.Err)
	}
	if diff := cmp.Diff([]string{"new 0", "new 1", "new 2"}, c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}

// regrowAndLeave lets the source step back to 4 and grow to 6 while a catch-up delivers, and the trigger deliver that: the
// catch-up has the partition, so the records are left to it.
func (c *clusters) regrowAndLeave(t *testing.T) {
	t.Helper()
	c.regrow(4, 6)
	if o := c.run(t, c.deliver(4, 5)); o.Err != nil || o.Parked == nil || c.item(t).Wanted != 6 {
		t.Errorf("delivery: error %v, parked %v, wanted %d, want it left up to 6", o.Err, o.Parked, c.item(t).Wanted)
	}
}

// TestCatchUpLooksAtWhatWasLeft: the only delivery that shows a step back of the source may come while a catch-up is at it.
func TestCatchUpLooksAtWhatWasLeft(t *testing.T) {
	t.Parallel()
	c := newClusters(6)
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.produce = nil
		c.target.append(records)
		c.regrowAndLeave(t)
		return len(records), nil
	}
	if err := c.catchUp(t); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(said(0, 5), "new 4", "new 5"), c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	if s := c.item(t); s.Wanted != 0 || s.Owner != "" {
		t.Errorf("wanted %d, owner %q when all was looked at", s.Wanted, s.Owner)
	}
}

// TestCatchUpLeavesWhatItCannotLookAt: it fails, so that the next owner looks.
func TestCatchUpLeavesWhatItCannotLookAt(t *testing.T) {
	t.Parallel()
	c := newClusters(6)
	c.target.produce = func(records []*kgo.Record) (int, error) {
		c.target.produce = nil
		c.target.append(records[:5])
		c.regrowAndLeave(t)
		return 5, mirror.ErrDenied
	}
	if err := c.catchUp(t); !errors.Is(err, mirror.ErrDenied) {
		t.Fatalf("catch-up: %v, want ErrDenied", err)
	}
	if s := c.item(t); s.Owner != "" || s.Next != 5 || s.Wanted != 6 {
		t.Fatalf("owner %q, next %d, wanted %d, want it given back at 5 with what was left", s.Owner, s.Next, s.Wanted)
	}
	if err := c.task().CatchUp(t.Context(), orders, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(said(0, 4), "new 4", "new 5"), c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}

// TestStepBackIsNotForgottenForADelivery: it was read before the step back that an invocation has found since, so that its
// record at next - 1 is the one that was mirrored.
func TestStepBackIsNotForgottenForADelivery(t *testing.T) {
	t.Parallel()
	c := newClusters(7)
	old := c.deliver(4, 6)
	c.source.end = 6
	if err := c.catchUp(t); err != nil {
		t.Fatal(err)
	}
	c.regrow(4, 6)
	c.target.err = errors.New("connection refused")
	if err := c.catchUp(t); !errors.Is(err, c.target.err) {
		t.Fatalf("catch-up: %v, want it to fail where it compares", err)
	}
	c.target.err = nil
	if o := c.run(t, old); o.Err != nil {
		t.Fatal(o.Err)
	}
	if diff := cmp.Diff(append(said(0, 5), "new 4", "new 5"), c.values()); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
}
