package checkpoint_test

import (
	"errors"
	"testing"
	"time"

	"tidemark/shared/checkpoint"
)

func TestLease(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.UnixMilli(int64(minute) * 60_000) }
	first, err := checkpoint.Lease{}.Take("a", at(1))
	if err != nil || first.Epoch != 1 {
		t.Fatalf("first tick = %+v, %v, want epoch 1", first, err)
	}
	tests := []struct {
		name  string
		owner string
		tick  time.Time
		want  error
		epoch int64
	}{
		{"an answer that was lost", "a", at(1), nil, 1},
		{"the same tick, delivered twice", "b", at(1), checkpoint.ErrServed, 1},
		{"an older tick", "b", at(0), checkpoint.ErrServed, 1},
		{"the next tick, whether or not the holder lives", "b", at(2), nil, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := first.Take(test.owner, test.tick)
			if !errors.Is(err, test.want) || got.Epoch != test.epoch {
				t.Errorf("Take = epoch %d, %v, want epoch %d, %v", got.Epoch, err, test.epoch, test.want)
			}
		})
	}
	second, _ := first.Take("b", at(2))
	if err := second.Holds("a", first.Epoch); !errors.Is(err, checkpoint.ErrSuperseded) {
		t.Errorf("Holds of the one before: %v, want ErrSuperseded", err)
	}
	if err := second.Holds("b", second.Epoch); err != nil {
		t.Errorf("Holds of the new one: %v", err)
	}
}
