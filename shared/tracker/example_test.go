package tracker_test

import (
	"fmt"
	"time"

	"tidemark/shared/tracker"
)

func Example() {
	now := time.Now()
	t := tracker.New(0)
	_ = t.Register(0, 0, 99, now) // slot 0 covers the offsets 0..99
	_ = t.Register(1, 100, 199, now)

	t.Resolve(1, tracker.Delivered) // out of order
	fmt.Println(t.Advance(now))     // slot 0 is still pending

	t.Resolve(0, tracker.Delivered)
	fmt.Println(t.Advance(now))
	// Output:
	// 0 false
	// 200 true
}
