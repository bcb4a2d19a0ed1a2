package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/shared/mm2"
)

var errSkipped = errors.New("a group skips records")

// failover moves consumer groups to the target by their checkpoints, as a consumer would that never heard of Tidemark, and
// states what each reads again. One has read everything, one half of each partition, one a quarter.
func (s *stack) failover(ctx context.Context, t *table, rows []row) error {
	groups := []struct {
		name  string
		share int64 // what part of each partition it has read: 1/share
	}{{"at-the-end", 1}, {"half-way", 2}, {"at-a-quarter", 4}}
	for _, g := range groups {
		var offsets kadm.Offsets
		for p, r := range rows {
			offsets.Add(kadm.Offset{Topic: s.topic, Partition: int32(p), At: r.source / g.share, LeaderEpoch: -1})
		}
		if err := s.observer.source.CommitAllOffsets(ctx, g.name, offsets); err != nil {
			return fmt.Errorf("commit offsets of group %s: %w", g.name, err)
		}
	}
	checkpoints, err := s.awaitCheckpoints(ctx, groups[0].name, len(rows))
	if err != nil {
		return err
	}
	t.print("\ngroup         unread on the source  read on the target  skipped  read again  by")
	for _, g := range groups {
		var all tally
		for p, r := range rows {
			at, found := checkpoints[position{g.name, int32(p)}]
			some, err := s.move(ctx, int32(p), r.source/g.share, at)
			if err != nil {
				return err
			}
			if found {
				some.byCheckpoint = 1
			}
			all = all.add(some)
		}
		t.print("%-13s %20d  %18d  %7d  %10d  %d checkpoints, %d times the log start", g.name, all.unread, all.read, all.skipped,
			all.read-all.unread+all.skipped, all.byCheckpoint, len(rows)-all.byCheckpoint)
		if all.skipped > 0 {
			err = errSkipped
		}
	}
	return err
}

// position is one group's place in one partition.
type position struct {
	group     string
	partition int32
}

// tally counts what a group meets on the target.
type tally struct{ unread, read, skipped, byCheckpoint int }

func (t tally) add(o tally) tally {
	return tally{t.unread + o.unread, t.read + o.read, t.skipped + o.skipped, t.byCheckpoint + o.byCheckpoint}
}

// awaitCheckpoints reads the checkpoints topic until a group has one in every partition, and returns the downstream offset
// of each group's last one.
func (s *stack) awaitCheckpoints(ctx context.Context, group string, partitions int) (map[position]int64, error) {
	names := mm2.Names{Source: sourceAlias, Target: targetAlias}
	for {
		records, err := read(ctx, s.observer.target, s.bed.Target, names.Checkpoints(), 0, 0)
		if err != nil {
			return nil, err
		}
		last, found := make(map[position]int64), 0
		for _, r := range records {
			c, err := mm2.DecodeCheckpoint(r.Key, r.Value)
			if err != nil {
				return nil, fmt.Errorf("read %s at %d: %w", names.Checkpoints(), r.Offset, err)
			}
			p := position{c.Group, c.Partition}
			if _, known := last[p]; !known && c.Group == group {
				found++
			}
			last[p] = c.Downstream
		}
		if found == partitions {
			return last, nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// move reads one partition on the target from the offset at, and holds it against what was unread on the source.
func (s *stack) move(ctx context.Context, partition int32, committed, at int64) (tally, error) {
	unread, errSource := read(ctx, s.observer.source, s.bed.Source, s.topic, partition, committed)
	got, errTarget := read(ctx, s.observer.target, s.bed.Target, s.remote(), partition, at)
	if err := errors.Join(errSource, errTarget); err != nil {
		return tally{}, err
	}
	t := tally{unread: len(unread), read: len(got)}
	for i := 1; i <= len(unread); i++ { // both end with the same records
		want := unread[len(unread)-i]
		if i > len(got) || !bytes.Equal(got[len(got)-i].Value, want.Value) || !bytes.Equal(got[len(got)-i].Key, want.Key) {
			t.skipped++
		}
	}
	return t, nil
}

// read reads a partition from an offset to its end as it is now.
func read(ctx context.Context, admin *kadm.Client, brokers []string, topic string, partition int32, from int64) ([]*kgo.Record, error) {
	ends, err := ends(ctx, admin, topic)
	if err != nil {
		return nil, err
	}
	end := ends[partition].Offset
	if from >= end {
		return nil, nil
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().At(from)}}))
	if err != nil {
		return nil, fmt.Errorf("open consumer: %w", err)
	}
	defer client.Close()
	var all []*kgo.Record
	for len(all) == 0 || all[len(all)-1].Offset < end-1 {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return nil, fmt.Errorf("read %s-%d from %d: %w", topic, partition, from, err)
		}
		all = append(all, fetched.Records()...)
	}
	return all, nil
}
