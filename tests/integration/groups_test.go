//go:build integration

package integration

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/mapping"
	"tidemark/shared/checkpoint"
	"tidemark/shared/mm2"
)

// TestGroupOffsets lets the groups' offsets on the target follow: of those that have none there, and only while nobody else
// has set them.
func TestGroupOffsets(t *testing.T) {
	t.Parallel()
	const n = 400
	topic := source.topic(t, 1)
	f := newFlow(t, topic, settings{trigger: mapping.Options{BatchSize: 100}})
	p := newPasses(t, f, f.dynamoDB, "SYNC_GROUP_OFFSETS_ENABLED=true")
	write(t, source.client(t), numbered(mm2.TopicPartition{Topic: topic}, n)...)
	f.caughtUp(t, 1, time.Minute)
	names := []string{"follows", "active", "standalone", "own"}
	advance := func(at int64) {
		t.Helper()
		for _, name := range names {
			p.commit(t, name, 1, at)
		}
		p.tick(t)
	}
	where := func(name string) int64 {
		t.Helper()
		offsets, err := target.admin(t).FetchOffsets(t.Context(), p.group(name))
		if err != nil {
			t.Fatal(err)
		}
		o, ok := offsets.Lookup(f.remote, 0)
		if !ok {
			return -1
		}
		return o.At
	}
	set := func(name string, at int64) { // as a consumer without membership does: its group looks empty
		t.Helper()
		var offsets kadm.Offsets
		offsets.AddOffset(f.remote, 0, at, -1)
		if err := target.admin(t).CommitAllOffsets(t.Context(), p.group(name), offsets); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, offsets map[string]int64) {
		t.Helper()
		for name, offset := range offsets {
			if got := where(name); got != offset {
				t.Errorf("%s: group %s stands at %d, want %d", when, name, got, offset)
			}
		}
	}
	p.tick(t)
	set("own", 7) // it was there before
	advance(100)
	want("first", map[string]int64{"follows": 100, "active": 100, "standalone": 100, "own": 7})
	member := target.client(t, kgo.ConsumerGroup(p.group("active")), kgo.ConsumeTopics(f.remote), kgo.DisableAutoCommit())
	if fetched := member.PollFetches(t.Context()); fetched.Err() != nil || fetched.Records()[0].Offset != 100 {
		t.Fatalf("the member of group active begins at %v, %v, want the offset that it was given", fetched.Records()[:1], fetched.Err())
	}
	set("standalone", 150)
	advance(200)
	want("with members and a group that went on", map[string]int64{"follows": 200, "active": 100, "standalone": 150, "own": 7})
	p.start(t, 50*time.Second) // another process
	member.Close()
	advance(300)
	want("in another process, without the member", map[string]int64{"follows": 300, "active": 300, "standalone": 150, "own": 7})
	if got := sum(t, p.output.Name(), checkpoint.GroupsActive); got == 0 {
		t.Error("no active group was counted")
	}
	deleted, err := target.admin(t).DeleteGroups(t.Context(), p.group("standalone"))
	if err != nil || deleted.Error() != nil {
		t.Fatal(err, deleted.Error())
	}
	p.start(t, 50*time.Second)
	p.tick(t)
	p.start(t, 50*time.Second)
	advance(400)
	want("after its offsets were deleted", map[string]int64{"follows": 400, "active": 400, "standalone": 400, "own": 7})
}
