package handover_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/handover"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// TestConnectOffset: the bytes that a dedicated MM2 4.1.0 has written.
func TestConnectOffset(t *testing.T) {
	t.Parallel()
	const key, value = `["MirrorSourceConnector",{"cluster":"us-east","partition":1,"topic":"orders"}]`, `{"offset":249}`
	want := handover.Offset{Connector: handover.Connector, Cluster: "us-east", TopicPartition: mm2.TopicPartition{Topic: "orders", Partition: 1}, Last: 249}
	got, ok, err := handover.DecodeOffset([]byte(key), []byte(value))
	if err != nil || !ok || got != want {
		t.Errorf("decoded %+v, %t, %v, want %+v", got, ok, err, want)
	}
	k, errKey := want.Key()
	v, errValue := want.Value()
	if errKey != nil || errValue != nil || string(k) != key || string(v) != value {
		t.Errorf("encoded %s %s, %v, %v", k, v, errKey, errValue)
	}
	want.Connector = "us->eu & back"
	if k, err := want.Key(); err != nil || !strings.HasPrefix(string(k), `["us->eu & back",`) {
		t.Errorf("encoded %s, %v, want the name as it is", k, err)
	}
}

func TestDecodeOffset(t *testing.T) {
	t.Parallel()
	const ours = `["c",{"cluster":"us","partition":0,"topic":"orders"}]`
	tests := []struct {
		name, key, value string
		ok               bool
		last             int64
		err              bool
	}{
		{"removed", ours, "", true, -1, false},
		{"removed by null", ours, "null", true, -1, false},
		{"of the checkpoint connector", `["c",{"partition":0,"topic":"us.orders","group":"g"}]`, `{"offset":0}`, false, 0, false},
		{"of the heartbeat connector", `["c",{"sourceClusterAlias":"us","targetClusterAlias":"eu"}]`, `{"offset":0}`, false, 0, false},
		{"of a file connector", `["c",{"filename":"x"}]`, `{"position":0}`, false, 0, false},
		{"no list", `{}`, `{"offset":0}`, false, 0, true},
		{"no offset", ours, `{"position":0}`, false, 0, true},
		{"negative", ours, `{"offset":-1}`, false, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o, ok, err := handover.DecodeOffset([]byte(test.key), []byte(test.value))
			if ok != test.ok || (err != nil) != test.err || ok && o.Last != test.last {
				t.Errorf("decoded %+v, %t, %v", o, ok, err)
			}
		})
	}
}

func TestTakeOver(t *testing.T) {
	t.Parallel()
	at := func(next int64) *int64 { return &next }
	mirrored := func(w *world, n int) { // of the source's a to f
		w.source.add(orders, "a", "b", "c", "d", "e", "f")
		w.target.add(remote, []string{"a", "b", "c", "d", "e", "f"}[:n]...)
	}
	tests := []struct {
		name string
		make func(*world)
		want handover.Partition
		err  error
	}{
		{"the offset trails", func(w *world) {
			mirrored(w, 4)
			w.note(handover.Connector, 1)
		}, handover.Partition{Position: at(4), From: "connect offset", Found: 2}, nil},
		{"an offset of a connector with another name", func(w *world) {
			mirrored(w, 4)
			w.note("us->eu", 3)
		}, handover.Partition{Position: at(4), From: "connect offset"}, nil},
		{"a record without a timestamp", func(w *world) {
			mirrored(w, 4)
			w.source.logs[orders][2].Timestamp = time.UnixMilli(-1)
			w.target.logs[remote][2].Timestamp = time.Now()
			w.note(handover.Connector, 1)
		}, handover.Partition{Position: at(4), From: "connect offset", Found: 2}, nil},
		{"syncs alone", func(w *world) {
			mirrored(w, 5)
			w.sync(0, 0)
			w.sync(2, 2)
		}, handover.Partition{Position: at(5), From: "offset sync", Found: 2}, nil},
		{"started again and again", func(w *world) {
			mirrored(w, 4)
			w.target.add(remote, "b", "c")
			w.target.add(remote, "b")
			w.sync(0, 0)
			w.sync(1, 4)
			w.sync(1, 6)
			w.note(handover.Connector, 0)
		}, handover.Partition{Position: at(4), From: "connect offset", Found: 2}, nil},
		{"nothing was mirrored", func(w *world) { mirrored(w, 0) }, handover.Partition{From: "nothing"}, nil},
		{"records without a position", func(w *world) { mirrored(w, 1) }, handover.Partition{}, handover.ErrNoPosition},
		{"a shorter topic since", func(w *world) {
			mirrored(w, 6)
			w.note(handover.Connector, 6)
		}, handover.Partition{}, handover.ErrOtherLog},
		{"another topic since, by the sync", func(w *world) {
			w.source.add(orders, "a", "b", "c", "d")
			w.target.add(remote, "z", "y", "x")
			w.sync(2, 2)
		}, handover.Partition{}, handover.ErrOtherLog},
		{"another topic since, by the offset", func(w *world) {
			w.source.add(orders, "a", "b", "c", "d")
			w.target.add(remote, "z", "y", "x")
			w.note(handover.Connector, 2)
		}, handover.Partition{}, handover.ErrOtherLog},
		{"a sync past the target's end", func(w *world) {
			mirrored(w, 3)
			w.sync(4, 4)
		}, handover.Partition{}, handover.ErrOtherLog},
		{"the remote topic is gone", func(w *world) {
			w.source.add(orders, "a", "b")
			w.note(handover.Connector, 1)
		}, handover.Partition{}, handover.ErrOtherLog},
		{"an open transaction", func(w *world) {
			mirrored(w, 3)
			w.target.open[remote] = true
			w.note(handover.Connector, 1)
		}, handover.Partition{}, handover.ErrOpen},
		{"the copies are gone, compacted away", func(w *world) {
			mirrored(w, 5)
			w.target.logs[remote] = w.target.logs[remote][4:]
			w.sync(0, 0)
			w.note(handover.Connector, 4)
		}, handover.Partition{Position: at(5), From: "connect offset"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			test.make(w)
			got, err := w.flow().TakeOver(t.Context())
			if err != nil || len(got) != 1 {
				t.Fatalf("take over: %+v, %v, want one partition", got, err)
			}
			if test.err != nil {
				if !strings.HasPrefix(got[0].Error, test.err.Error()) || got[0].Position != nil {
					t.Errorf("take over: %+v, want the error %q", got[0], test.err)
				}
				if s, err := w.state.Get(t.Context(), orders); err != nil || s.Begun() {
					t.Errorf("it was placed at %d, %v", s.Next, err)
				}
				return
			}
			test.want.Topic = orders.Topic
			got[0].Note = ""
			if diff := cmp.Diff(test.want, got[0]); diff != "" {
				t.Errorf("take over (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTakenOverIsSettled: what MM2 yet sent is the next owner's to find, and nothing is placed twice.
func TestTakenOverIsSettled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source.add(orders, "a", "b", "c")
	w.target.add(remote, "a", "b")
	w.sync(0, 0)
	for range 2 {
		if _, err := w.flow().TakeOver(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(time.Minute)
	g, err := w.state.Claim(t.Context(), watermark.Claim{Partition: orders, Owner: "next", Producer: 1, Now: now, Deadline: now})
	if err != nil {
		t.Fatal(err)
	}
	if s := g.State; !g.Settle || s.Next != 2 || s.Origin != 2 || s.DownstreamNext != 2 || s.TopicID != "id of orders" || s.Epoch != 2 {
		t.Errorf("the next owner gets %+v, settle %t", s, g.Settle)
	}
}

func TestHandBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source.add(orders, "a", "b", "c")
	w.source.add(mm2.TopicPartition{Topic: "orders", Partition: 1}, "a")
	w.source.add(mm2.TopicPartition{Topic: "orders", Partition: 2}, "a")
	mirror := func(partition int32, owner string) {
		t.Helper()
		tp, now := mm2.TopicPartition{Topic: "orders", Partition: partition}, time.Now()
		g, err := w.state.Claim(t.Context(), watermark.Claim{Partition: tp, Owner: "a", Producer: 1, Now: now, Deadline: now})
		if err != nil {
			t.Fatal(err)
		}
		s := g.State
		s.Owner, s.Next, s.DownstreamNext = owner, 3, 3
		if owner == "" {
			s.Producers, s.OwnerDeadline = nil, time.Time{}
		}
		if err := w.state.Commit(t.Context(), watermark.Commit{Owner: "a", From: watermark.None, State: s}); err != nil {
			t.Fatal(err)
		}
	}
	mirror(0, "")
	mirror(2, "a")
	got, err := w.flow().HandBack(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("hand back: %+v, %v", got, err)
	}
	if got[0].Position == nil || *got[0].Position != 3 || got[1].Position != nil || got[1].Note == "" || got[1].Error != "" || got[2].Error != handover.ErrUnsettled.Error() {
		t.Errorf("hand back: %+v, want the first alone, the second never mirrored, the third not settled", got)
	}
	if n := w.target.made["mm2-offsets.us.internal"]; n != 25 {
		t.Errorf("the offsets topic was made with %d partitions, want Connect's 25", n)
	}
	var written []*kgo.Record
	for tp, log := range w.target.logs {
		if tp.Topic == "mm2-offsets.us.internal" {
			written = append(written, log...)
		}
	}
	if len(written) != 1 || string(written[0].Value) != `{"offset":2}` || string(written[0].Key) != `["MirrorSourceConnector",{"cluster":"us","partition":0,"topic":"orders"}]` {
		t.Errorf("written: %v", written)
	}
}

// TestBadOffsetStops: what cannot be decoded may be a position.
func TestBadOffsetStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.source.add(orders, "a")
	w.target.append(mm2.TopicPartition{Topic: "mm2-offsets.us.internal"}, &kgo.Record{Key: []byte("x"), Value: []byte("y")})
	if got, err := w.flow().TakeOver(t.Context()); err == nil || errors.Is(err, handover.ErrOtherLog) {
		t.Errorf("take over: %+v, %v, want an error", got, err)
	}
}
