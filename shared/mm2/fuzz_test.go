package mm2_test

import (
	"bytes"
	"testing"

	"tidemark/shared/mm2"
)

// Invariants of every decoder: it never panics; what it accepts encodes to a prefix of what it was given (so nothing is
// normalised on the way, and only trailing bytes are lost); it accepts that encoding again.

func FuzzDecodeOffsetSync(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if s, err := mm2.DecodeOffsetSync(key, value); err == nil {
			checkPrefix(t, offsetSync(s), key, value)
		}
	})
}

func FuzzDecodeCheckpoint(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if c, err := mm2.DecodeCheckpoint(key, value); err == nil {
			checkPrefix(t, checkpoint(c), key, value)
		}
	})
}

func FuzzDecodeHeartbeat(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if h, err := mm2.DecodeHeartbeat(key, value); err == nil {
			checkPrefix(t, heartbeat(h), key, value)
		}
	})
}

func seed(f *testing.F) {
	f.Helper()
	for _, g := range readGolden(f) {
		f.Add(g.key, g.value)
	}
	f.Add([]byte{0xff, 0xff}, []byte(nil))
}

func checkPrefix(t *testing.T, r record, key, value []byte) {
	t.Helper()
	k, errKey := r.key()
	v, errValue := r.value()
	if errKey != nil || errValue != nil || !bytes.HasPrefix(key, k) || !bytes.HasPrefix(value, v) {
		t.Fatalf("decoded from %x, %x; encodes to %x, %x (%v, %v)", key, value, k, v, errKey, errValue)
	}
	if _, err := r.decode(k, v); err != nil {
		t.Fatalf("decode of its own encoding %x, %x: %v", k, v, err)
	}
}
