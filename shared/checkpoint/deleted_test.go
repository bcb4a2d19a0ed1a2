package checkpoint_test

import (
	"testing"

	"tidemark/shared/checkpoint"
)

// TestDeletedGroupsAndTopicsAreLetGo: MM2 tries the checkpoints of a remote topic that is gone for ever (KAFKA-19107). Here
// nothing is kept to be tried again: each pass plans from what there is.
func TestDeletedGroupsAndTopicsAreLetGo(t *testing.T) {
	t.Parallel()
	w := newWorld()
	task := w.task(nil)
	written := func() int { return len(w.topics["us.checkpoints.internal"]) }
	w.mirrored(5, 4)
	w.group("stays", 5, nil)
	w.group("goes", 5, nil)
	if err := pass(t, task, 1); err != nil || written() != 2 {
		t.Fatalf("%d checkpoints, %v, want two", written(), err)
	}
	delete(w.groups, "goes")
	delete(w.listed, "goes")
	delete(w.stable, tp("us.t", 0)) // the remote topic
	w.group("stays", 4, nil)
	w.gauge()
	for minute := range int64(2) {
		if err := pass(t, task, 2+minute); err != nil {
			t.Fatal(err)
		}
		counts := w.gauge()
		if written() != 2 || counts[checkpoint.CheckpointsWithheld] != 1 || counts[checkpoint.GroupErrors] != 0 || counts[checkpoint.PassSucceeded] != 1 {
			t.Errorf("pass %d: %d checkpoints, counts %v, want none more, one withheld, no error", 2+minute, written(), counts)
		}
	}
	delete(w.stable, tp("t", 0)) // the source topic, and the group's offset with it
	delete(w.groups, "stays")
	delete(w.listed, "stays")
	if err := pass(t, task, 4); err != nil || written() != 2 || w.gauge()[checkpoint.CheckpointsWithheld] != 0 {
		t.Errorf("%d checkpoints, %v, want none more and none withheld", written(), err)
	}
}
