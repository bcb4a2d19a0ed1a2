package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"tidemark/infra/local/runtimeapi"
)

// scheduler ticks the checkpoint function as EventBridge Scheduler does: by the scheduled time, at least once.
type scheduler struct {
	function *runtimeapi.Function
	every    time.Duration // between two ticks
	apart    time.Duration // between their scheduled times, which need not be the same
	log      *slog.Logger
}

// run ticks until ctx ends. Every fourth tick comes twice. A tick that fails is the next one's to make up for, as the
// template has it: no retries.
func (s *scheduler) run(ctx context.Context) error {
	timer := time.NewTicker(s.every)
	defer timer.Stop()
	scheduled := time.Now().Truncate(time.Second)
	for n := 1; ; n++ {
		times := 1
		if n%4 == 0 {
			times = 2
		}
		for range times {
			payload := fmt.Appendf(nil, `{"time":%q}`, scheduled.UTC().Format(time.RFC3339))
			if _, err := s.function.Invoke(ctx, payload); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "tick failed", "error", err)
			}
		}
		scheduled = scheduled.Add(s.apart)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}
