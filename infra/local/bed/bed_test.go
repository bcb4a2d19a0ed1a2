package bed_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/bed"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

func start(t *testing.T, o bed.Options) *bed.Bed {
	t.Helper()
	b, err := bed.Start(t.Context(), o)
	t.Cleanup(b.Close)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// topics are a cluster's id and its topics' partition counts.
func topics(t *testing.T, brokers []string) (string, map[string]int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	m, err := kadm.NewClient(client).Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for name, topic := range m.Topics {
		counts[name] = len(topic.Partitions)
	}
	return m.Cluster, counts
}

func TestStartEmbedsTwoClustersAndATable(t *testing.T) {
	t.Parallel()
	b := start(t, bed.Options{})
	for range 2 { // the second finds it there
		if err := b.CreateTopic(t.Context(), "orders", 3); err != nil {
			t.Fatal(err)
		}
	}
	source, onSource := topics(t, b.Source)
	target, onTarget := topics(t, b.Target)
	if source == target {
		t.Errorf("both clusters have the id %q", source)
	}
	if diff := cmp.Diff(map[string]int{"orders": 3}, onSource); diff != "" {
		t.Errorf("source topics (-want +got):\n%s", diff)
	}
	if len(onTarget) != 0 {
		t.Errorf("target topics = %v, want none: the mirror makes them", onTarget)
	}
	tp := mm2.TopicPartition{Topic: "orders", Partition: 2}
	c := watermark.Claim{Partition: tp, Owner: "n", Now: time.Now(), Deadline: time.Now().Add(time.Second)}
	if _, err := b.State.Claim(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got, err := b.State.Get(t.Context(), tp); err != nil || got.Epoch != 1 {
		t.Errorf("state after a claim = %+v, %v, want epoch 1", got, err)
	}
}

func TestStartUsesWhatIsGiven(t *testing.T) {
	t.Parallel()
	given := start(t, bed.Options{})
	b := start(t, bed.Options{Source: given.Source, Target: given.Target, DynamoDB: given.DynamoDB, Table: given.Table})
	if err := b.CreateTopic(t.Context(), "orders", 1); err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, got := topics(t, given.Source); got["orders"] != 1 {
		t.Errorf("topics of the given source after Close = %v, want orders", got)
	}
}
