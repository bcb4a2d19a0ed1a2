package checkpoint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
	"tidemark/shared/offsetsync"
	"tidemark/shared/watermark"
)

func tp(topic string, partition int32) mm2.TopicPartition {
	return mm2.TopicPartition{Topic: topic, Partition: partition}
}

// store holds syncs of partitions, each as upstream and downstream offset.
func store(syncs ...mm2.OffsetSync) *offsetsync.Store {
	s := offsetsync.New()
	for _, sync := range syncs {
		s.Add(sync)
	}
	s.Loaded()
	return s
}

func syncOf(topic string, partition int32, upstream, downstream int64) mm2.OffsetSync {
	return mm2.OffsetSync{TopicPartition: tp(topic, partition), Upstream: upstream, Downstream: downstream}
}

func view(s checkpoint.Translator, last ...mm2.Checkpoint) checkpoint.View {
	v := checkpoint.View{
		Syncs:  s,
		Remote: map[string]string{"t": "us.t"},
		Target: map[mm2.TopicPartition]checkpoint.Bounds{tp("us.t", 0): {End: 1000}, tp("us.t", 1): {End: 1000}},
		Last:   map[checkpoint.Position]mm2.Checkpoint{},
	}
	for _, c := range last {
		v.Last[checkpoint.Position{Group: c.Group, Partition: c.TopicPartition}] = c
	}
	return v
}

func committed(group string, partition int32, offset int64) checkpoint.Committed {
	return checkpoint.Committed{Group: group, Partition: tp("t", partition), Offset: offset, Metadata: "of " + group}
}

func written(group string, upstream, downstream int64) mm2.Checkpoint {
	return mm2.Checkpoint{TopicPartition: tp("us.t", 0), Group: group, Upstream: upstream, Downstream: downstream, Metadata: "of " + group}
}

// TestMake has the vectors of MirrorCheckpointTaskTest and what Tidemark adds to its rules.
func TestMake(t *testing.T) {
	t.Parallel()
	history := store(syncOf("t", 0, 11, 4), syncOf("t", 0, 12, 5))
	tests := []struct {
		name   string
		view   checkpoint.View
		groups []checkpoint.Committed
		want   checkpoint.Plan
	}{
		{"past the sync", view(store(syncOf("t", 0, 3, 4))), []checkpoint.Committed{committed("g", 0, 10)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 10, 5)}}},
		{"at the sync", view(store(syncOf("t", 0, 7, 8))), []checkpoint.Committed{committed("g", 0, 7)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 7, 8)}}},
		{"downstream 0 is written", view(store(syncOf("t", 0, 5, 0))), []checkpoint.Committed{committed("g", 0, 5)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 5, 0)}}},
		{"no sync of the partition", view(store(syncOf("t", 0, 3, 4))), []checkpoint.Committed{committed("g", 1, 10)}, checkpoint.Plan{Unsynced: 1}},
		{"older than every sync", view(store(syncOf("t", 0, 30, 4))), []checkpoint.Committed{committed("g", 0, 10)}, checkpoint.Plan{TooOld: 1}},
		{"no offset", view(store(syncOf("t", 0, 1, 3))), []checkpoint.Committed{committed("g", 0, -1)}, checkpoint.Plan{Uncommitted: 1}},
		{"no further downstream", view(history, written("g", 13, 6)), []checkpoint.Committed{committed("g", 0, 14)}, checkpoint.Plan{Unchanged: 1}},
		{"downstream went back with the store", view(history, written("g", 13, 9)), []checkpoint.Committed{committed("g", 0, 13)}, checkpoint.Plan{Unchanged: 1}},
		{"the group went back", view(history, written("g", 13, 9)), []checkpoint.Committed{committed("g", 0, 12)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 12, 5)}}},
		{"further downstream", view(history, written("g", 11, 4)), []checkpoint.Committed{committed("g", 0, 12)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 12, 5)}}},
		{"past the remote partition's end", bounded(view(history), 0, 5), []checkpoint.Committed{committed("g", 0, 20)}, checkpoint.Plan{Beyond: 1}},
		{"at the remote partition's end", bounded(view(history), 0, 6), []checkpoint.Committed{committed("g", 0, 20)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 20, 6)}}},
		{"below the target's log start", bounded(view(history), 50, 60), []checkpoint.Committed{committed("g", 0, 11)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 11, 50)}}},
		{"the last checkpoint is past the target's end", bounded(view(history, written("g", 11, 900)), 0, 60), []checkpoint.Committed{committed("g", 0, 12)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 12, 5)}}},
		{"no remote partition", checkpoint.View{Syncs: history, Remote: map[string]string{"t": "none"}}, []checkpoint.Committed{committed("g", 0, 12)}, checkpoint.Plan{Beyond: 1}},
		{"several groups, in order", view(history), []checkpoint.Committed{committed("h", 0, 12), committed("g", 0, 11)}, checkpoint.Plan{Checkpoints: []mm2.Checkpoint{written("g", 11, 4), written("h", 12, 5)}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			exactness := cmpopts.IgnoreFields(checkpoint.Plan{}, "Exact", "Bounded", "Again", "Worst") // TestExactness
			if diff := cmp.Diff(test.want, checkpoint.Make(test.view, test.groups), exactness); diff != "" {
				t.Errorf("Make (-want +got):\n%s", diff)
			}
		})
	}
}

func bounded(v checkpoint.View, start, end int64) checkpoint.View {
	v.Target[tp("us.t", 0)] = checkpoint.Bounds{Start: start, End: end}
	return v
}

// listed is a store with one sync of t-0 at upstream 199, whose header says that 100 to 149 stand at 1000 to 1049, and, behind
// a marker, 151 to 199 at 1050 to 1098.
func listed(t *testing.T) *offsetsync.Store {
	t.Helper()
	s := offsetsync.New()
	s.Add(syncOf("t", 0, 199, 1098))
	h := offsetsync.Header{TopicID: "id", Epoch: 3}
	h.Runs.Extend(100, 1000, 50, false)
	h.Runs.Extend(151, 1050, 49, true)
	s.Note(tp("t", 0), h)
	s.Loaded()
	return s
}

// TestExactness puts groups inside the stretches, between them, before and behind.
func TestExactness(t *testing.T) {
	t.Parallel()
	v := bounded(view(listed(t)), 0, 1099)
	groups := []checkpoint.Committed{
		committed("first", 0, 100), committed("inside", 0, 120), committed("marker", 0, 150), committed("end", 0, 200),
		committed("behind", 0, 210), committed("before", 0, 99), committed("elsewhere", 1, 100),
	}
	want := checkpoint.Plan{
		Checkpoints: []mm2.Checkpoint{written("behind", 210, 1099), written("end", 200, 1099), written("first", 100, 1000), written("inside", 120, 1020), written("marker", 150, 1050)},
		Exact:       4, Bounded: 1, Again: 10, Worst: checkpoint.Position{Group: "behind", Partition: tp("us.t", 0)}, TooOld: 1, Unsynced: 1,
	}
	if diff := cmp.Diff(want, checkpoint.Make(v, groups)); diff != "" {
		t.Errorf("Make (-want +got):\n%s", diff)
	}
}

// item is the state of a partition of t that was mirrored up to next, the newest record at last, under an epoch and a topic id.
func item(partition int32, next, last, epoch int64, topicID string, runs *offsetsync.Runs) watermark.State {
	s := watermark.New(tp("t", partition))
	s.Next, s.DownstreamNext, s.DownstreamLast, s.Epoch, s.TopicID = next, last+3, last, epoch, topicID
	if runs != nil {
		s.Runs, _ = runs.AppendBinary(nil) // never an error
	}
	return s
}

func TestDueSyncs(t *testing.T) {
	t.Parallel()
	states := []watermark.State{
		item(3, 10, 7, 1, "", nil),             // moved
		item(1, 10, 7, 1, "", nil),             // newest already
		item(0, 10, 7, 1, "", nil),             // never synced
		item(2, 10, 7, 1, "", nil),             // the topic has a later one
		item(4, 0, watermark.None, 1, "", nil), // begun, nothing mirrored
		watermark.New(tp("t", 5)),              // claimed only
	}
	s := store(syncOf("t", 1, 9, 7), syncOf("t", 2, 12, 9), syncOf("t", 3, 8, 6))
	var got []mm2.OffsetSync
	for _, due := range checkpoint.DueSyncs(states, s) {
		got = append(got, due.OffsetSync)
	}
	if diff := cmp.Diff([]mm2.OffsetSync{syncOf("t", 0, 9, 7), syncOf("t", 3, 9, 7)}, got); diff != "" {
		t.Errorf("DueSyncs (-want +got):\n%s", diff)
	}
}

// TestHeaders is about what a sync carries, and when it is due for that.
func TestHeaders(t *testing.T) {
	t.Parallel()
	follows := new(offsetsync.Runs)
	follows.Extend(180, 1079, 40, false)
	same := new(offsetsync.Runs)
	same.Extend(180, 1079, 20, false)
	cut := new(offsetsync.Runs)
	cut.Extend(180, 1079, 20, false)
	cut.Cut(160)
	again := *cut
	again.Extend(160, 1099, 5, true)
	made := new(offsetsync.Runs)
	made.Extend(0, 0, 200, false)
	made.Cut(0)
	made.Extend(0, 1099, 30, true)
	tests := []struct {
		name     string
		item     watermark.State
		due      bool
		upstream int64
		places   map[int64]int64 // by the new header
	}{
		{"goes on", item(0, 220, 1118, 4, "id", follows), true, 219, map[int64]int64{120: 1020, 150: 1050, 199: 1098, 219: 1118, 220: 1119}},
		{"nothing new", item(0, 200, 1098, 4, "id", same), false, 0, nil},
		{"went back by hand", item(0, 180, watermark.None, 4, "id", same), false, 0, nil},
		{"truncated", item(0, 165, 1103, 4, "id", &again), true, 164, map[int64]int64{120: 1020, 155: 1054, 160: 1099, 164: 1103, 165: 1104}},
		{"passed over what expired", item(0, 230, 1098, 4, "id", same), false, 0, nil},
		{"truncated, as an older item says", item(0, 165, 1103, 2, "id", &again), false, 0, nil},
		{"made again", item(0, 30, 1128, 4, "other", made), true, 29, map[int64]int64{0: 1099, 29: 1128}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := listed(t)
			due := checkpoint.DueSyncs([]watermark.State{test.item}, s)
			if (len(due) == 1) != test.due {
				t.Fatalf("%d syncs are due, want one: %t", len(due), test.due)
			}
			if !test.due {
				return
			}
			if due[0].Upstream != test.upstream || due[0].Epoch != max(test.item.Epoch, 3) || due[0].TopicID != test.item.TopicID {
				t.Errorf("sync of %d, epoch %d, topic %q", due[0].Upstream, due[0].Epoch, due[0].TopicID)
			}
			s.Add(due[0].OffsetSync)
			s.Note(tp("t", 0), due[0].Header)
			for upstream, want := range test.places {
				if got, ok := s.Locate(tp("t", 0), upstream); got != (offsetsync.Place{Downstream: want}) || !ok {
					t.Errorf("Locate(%d) = %+v, %t, want %d exactly", upstream, got, ok, want)
				}
			}
		})
	}
}

// TestHeaderIsWrittenWhereNoneIs: MM2, or an older version, wrote the newest sync.
func TestHeaderIsWrittenWhereNoneIs(t *testing.T) {
	t.Parallel()
	runs := new(offsetsync.Runs)
	runs.Extend(5, 3, 5, false)
	s := store(syncOf("t", 0, 9, 7))
	if due := checkpoint.DueSyncs([]watermark.State{item(0, 10, 7, 1, "id", runs)}, s); len(due) != 1 || due[0].Upstream != 9 {
		t.Errorf("DueSyncs = %+v, want the same sync with a header", due)
	}
}

// TestRenaming has the vectors of MirrorCheckpointTaskTest.testDownstreamTopicRenaming and testCheckpoint.
func TestRenaming(t *testing.T) {
	t.Parallel()
	flow := mm2.Names{Source: "source1", Target: "target2"}
	remote := func(topic string) string { return checkpoint.RemoteTopic(mm2.DefaultPolicy{}, flow, topic) }
	for topic, want := range map[string]string{"topic3": "source1.topic3", "target2.topic3": "topic3", "source6.topic7": "source1.source6.topic7"} {
		if got := remote(topic); got != want {
			t.Errorf("RemoteTopic(%q) = %q, want %q", topic, got, want)
		}
	}
	v := checkpoint.View{
		Syncs: store(syncOf("topic1", 2, 3, 4), syncOf("target2.topic5", 6, 7, 8)), Remote: map[string]string{"topic1": remote("topic1"), "target2.topic5": remote("target2.topic5")},
		Target: map[mm2.TopicPartition]checkpoint.Bounds{tp("source1.topic1", 2): {End: 100}, tp("topic5", 6): {End: 100}},
	}
	got := checkpoint.Make(v, []checkpoint.Committed{
		{Group: "group9", Partition: tp("topic1", 2), Offset: 10},
		{Group: "group11", Partition: tp("target2.topic5", 6), Offset: 12},
		{Group: "group13", Partition: tp("target2.topic5", 6), Offset: 7},
	})
	want := []mm2.Checkpoint{
		{TopicPartition: tp("topic5", 6), Group: "group11", Upstream: 12, Downstream: 9},
		{TopicPartition: tp("topic5", 6), Group: "group13", Upstream: 7, Downstream: 8},
		{TopicPartition: tp("source1.topic1", 2), Group: "group9", Upstream: 10, Downstream: 5},
	}
	if diff := cmp.Diff(want, got.Checkpoints); diff != "" {
		t.Errorf("checkpoints (-want +got):\n%s", diff)
	}
}

// step is a pass of a history: syncs come, a group stands somewhere, and a downstream offset is written, or -1: none.
type step struct {
	syncs     []mm2.OffsetSync
	restart   bool // the store is loaded anew from these syncs alone; the checkpoints are known
	committed int64
	want      int64
}

// TestHistories has the vectors testCheckpointRecordsMonotonicIfStoreRewinds and testCheckpointsTaskRestartUsesExisting-
// Checkpoints of MirrorCheckpointTaskTest.
func TestHistories(t *testing.T) {
	t.Parallel()
	at := func(pairs ...int64) (syncs []mm2.OffsetSync) {
		for i := 0; i < len(pairs); i += 2 {
			syncs = append(syncs, syncOf("t", 0, pairs[i], pairs[i+1]))
		}
		return syncs
	}
	for name, steps := range map[string][]step{
		"the store's history shrinks": {
			{syncs: at(11, 4, 12, 5), committed: 13, want: 6},
			{syncs: at(13, 6, 14, 7, 15, 8, 16, 9, 17, 10), committed: 13, want: -1},
			{committed: 12, want: 5}, // the group went back
		},
		"a restart knows what was written": {
			{syncs: at(100, 100, 200, 200, 300, 300), committed: 250, want: 201},
			{restart: true, syncs: at(175, 175, 275, 275, 375, 375, 475, 475), committed: 250, want: -1},
			{committed: 370, want: -1},
			{committed: 400, want: 376},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, v := offsetsync.New(), view(nil)
			s.Loaded()
			for i, step := range steps {
				if step.restart {
					s = offsetsync.New()
				}
				for _, sync := range step.syncs {
					s.Add(sync)
				}
				s.Loaded()
				v.Syncs = s
				got := int64(-1)
				for _, c := range checkpoint.Make(v, []checkpoint.Committed{committed("g", 0, step.committed)}).Checkpoints {
					got = c.Downstream
					v.Last[checkpoint.Position{Group: c.Group, Partition: c.TopicPartition}] = c
				}
				if got != step.want {
					t.Errorf("pass %d: a group at %d is sent to %d, want %d", i, step.committed, got, step.want)
				}
			}
		})
	}
}
