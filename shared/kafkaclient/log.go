package kafkaclient

import (
	"context"
	"log/slog"
)

// quiet lets franz-go log warnings and errors only: its steady state is of no interest to an operator.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}
