package offsetsync_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
)

// headers are headers and their codings, byte by byte as docs/formats.md has it.
func headers() map[string]offsetsync.Header {
	return map[string]offsetsync.Header{
		"01" + "00" + "00": {},
		"01" + "ac02" + "026964" + "01" + "00643c" + "010011" + "000209": {TopicID: "id", Epoch: 300, Runs: runs([3]int64{0, 100, 10}, [3]int64{10, 110, 5}, [3]int64{16, 115, 4}, [3]int64{20, 121, 2})},
	}
}

func TestHeaderVectors(t *testing.T) {
	t.Parallel()
	for want, h := range headers() {
		coded, err := h.AppendBinary(nil)
		if got := hex.EncodeToString(coded); err != nil || got != want {
			t.Errorf("coding of %+v = %s, %v, want %s", h, got, err, want)
		}
		b, _ := hex.DecodeString(want)
		var decoded offsetsync.Header
		if err := decoded.UnmarshalBinary(b); err != nil || decoded.TopicID != h.TopicID || decoded.Epoch != h.Epoch || text(&decoded.Runs) != text(&h.Runs) {
			t.Errorf("decoding of %s = %+v, %v, want %+v", want, decoded, err, h)
		}
	}
	long := offsetsync.Header{TopicID: string(make([]byte, 256))}
	if _, err := long.AppendBinary(nil); err == nil {
		t.Error("a topic id of 256 bytes was encoded")
	}
}

func TestHeaderRefuses(t *testing.T) {
	t.Parallel()
	for name, coded := range map[string]string{
		"nothing":                      "",
		"a later version":              "02" + "0000",
		"no epoch":                     "01",
		"an epoch past 2^61":           "01" + "ffffffffffffffff7f" + "00",
		"no id":                        "01" + "00",
		"half an id":                   "01" + "00" + "0269",
		"an id of 256 bytes":           "01" + "00" + "8002",
		"stretches of a later version": "01" + "00" + "00" + "02" + "00643c",
		"half a stretch":               "01" + "00" + "00" + "01" + "0064",
	} {
		b, _ := hex.DecodeString(coded)
		h := offsetsync.Header{TopicID: "as it was"}
		if err := h.UnmarshalBinary(b); !errors.Is(err, offsetsync.ErrCoding) || h.TopicID != "as it was" {
			t.Errorf("%s: %+v, %v, want it refused", name, h, err)
		}
	}
}

// FuzzUnmarshalHeader: no input panics, what is accepted is encoded to the same bytes, what is refused changes nothing.
func FuzzUnmarshalHeader(f *testing.F) {
	for coded := range headers() {
		b, _ := hex.DecodeString(coded)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h := offsetsync.Header{Epoch: -1}
		if err := h.UnmarshalBinary(b); err != nil {
			if h.Epoch != -1 || !errors.Is(err, offsetsync.ErrCoding) {
				t.Fatalf("%x was refused (%v) and left %+v", b, err, h)
			}
			return
		}
		if again, err := h.AppendBinary(nil); err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x was accepted and is encoded as %x, %v", b, again, err)
		}
	})
}

// TestNote: the highest epoch wins, whatever the order, and of equal ones the last.
func TestNote(t *testing.T) {
	t.Parallel()
	header := func(epoch, downstream int64) offsetsync.Header {
		return offsetsync.Header{Epoch: epoch, Runs: runs([3]int64{0, downstream, 10})}
	}
	s := store(offsetsync.History, []pair{{20, 30}}, nil)
	other := mm2.TopicPartition{Topic: "orders", Partition: 4}
	s.Note(other, header(9, 900)) // no sync of that partition
	for _, step := range []struct{ epoch, downstream, want int64 }{{3, 100, 105}, {2, 200, 105}, {3, 300, 305}, {5, 400, 405}} {
		s.Note(orders, header(step.epoch, step.downstream))
		s.Add(mm2.OffsetSync{TopicPartition: orders, Upstream: 20, Downstream: step.downstream + 20})
		if got, ok := s.Locate(orders, 5); got != (offsetsync.Place{Downstream: step.want}) || !ok {
			t.Errorf("after epoch %d: Locate(5) = %+v, %t, want %d", step.epoch, got, ok, step.want)
		}
	}
	if _, ok := s.Locate(other, 5); ok {
		t.Error("a header alone translates")
	}
}

// TestLocate puts the slots beside the stretches: the answer further on is right.
func TestLocate(t *testing.T) {
	t.Parallel()
	s := store(offsetsync.History, []pair{{50, 60}, {100, 110}, {300, 500}}, nil)
	h := offsetsync.Header{Epoch: 1, Runs: runs([3]int64{100, 110, 50})}
	h.Runs.Extend(170, 190, 30, false)
	s.Note(orders, h)
	for upstream, want := range map[int64]offsetsync.Place{
		49:  {Downstream: -1},             // older than all
		50:  {Downstream: 60},             // at a sync
		80:  {Downstream: 61, Again: 29},  // behind it
		120: {Downstream: 130},            // in a run
		150: {Downstream: 160},            // at its end
		160: {Downstream: 160, Again: 10}, // in a gap that nobody explains
		199: {Downstream: 219},            //
		250: {Downstream: 220, Again: 50}, // behind the last
		300: {Downstream: 500},            // a newer sync knows more
		310: {Downstream: 501, Again: 9},  //
	} {
		if got, ok := s.Locate(orders, upstream); got != want || !ok {
			t.Errorf("Locate(%d) = %+v, %t, want %+v", upstream, got, ok, want)
		}
	}
}

// TestLocateAfterTheTargetWentBack: older syncs name offsets at which other records stand by now.
func TestLocateAfterTheTargetWentBack(t *testing.T) {
	t.Parallel()
	s := store(offsetsync.History, []pair{{50, 60}, {100, 110}, {150, 5}}, nil)
	h := offsetsync.Header{Epoch: 1, Runs: runs([3]int64{100, 110, 50})}
	h.Runs.Extend(150, 5, 10, true)
	s.Note(orders, h)
	for upstream, want := range map[int64]offsetsync.Place{100: {Downstream: -1}, 120: {Downstream: -1}, 150: {Downstream: 5}, 155: {Downstream: 10}} {
		if got, ok := s.Locate(orders, upstream); got != want || !ok {
			t.Errorf("Locate(%d) = %+v, %t, want %+v", upstream, got, ok, want)
		}
	}
}

// TestLowerSyncCutsTheStretches: the source went back, and what stands there now is not what the list says. The list of the
// caller stays as it was.
func TestLowerSyncCutsTheStretches(t *testing.T) {
	t.Parallel()
	s := store(offsetsync.History, []pair{{99, 199}}, nil)
	h := offsetsync.Header{Epoch: 1, Runs: runs([3]int64{0, 100, 100})}
	s.Note(orders, h)
	s.Add(mm2.OffsetSync{TopicPartition: orders, Upstream: 40, Downstream: 300})
	for upstream, want := range map[int64]offsetsync.Place{39: {Downstream: 139}, 40: {Downstream: 300}, 60: {Downstream: 301, Again: 19}} {
		if got, ok := s.Locate(orders, upstream); got != want || !ok {
			t.Errorf("Locate(%d) = %+v, %t, want %+v", upstream, got, ok, want)
		}
	}
	if got, _, _ := h.Runs.Translate(60); got != 160 {
		t.Errorf("the list was changed: Translate(60) = %d", got)
	}
}
