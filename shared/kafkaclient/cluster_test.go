package kafkaclient_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/shared/kafkaclient"
	"tidemark/shared/mirror"
	"tidemark/shared/mm2"
)

var orders = mm2.TopicPartition{Topic: "orders"}

// brokers starts an embedded cluster of one broker, unless opts say otherwise.
func brokers(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, orders.Topic)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func seeds(c *kfake.Cluster) []kgo.Opt { return []kgo.Opt{kgo.SeedBrokers(c.ListenAddrs()...)} }

var discard = slog.New(slog.DiscardHandler)

func sourceOf(t *testing.T, options []kgo.Opt) *kafkaclient.Source {
	t.Helper()
	s, err := kafkaclient.NewSource(options, discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func targetOf(t *testing.T, options []kgo.Opt) *kafkaclient.Target {
	t.Helper()
	s, err := kafkaclient.NewTarget(options, -1, discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// writer is a client that the tests write with themselves.
func writer(t *testing.T, c *kfake.Cluster, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(append(seeds(c), kgo.RecordPartitioner(kgo.ManualPartitioner())), options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// write appends values to orders, in one batch.
func write(t *testing.T, client *kgo.Client, values ...string) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), valued(values...)...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// valued makes records of orders.
func valued(values ...string) []*kgo.Record {
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: orders.Topic, Value: []byte(v), Timestamp: time.UnixMilli(1545084650987)}
	}
	return records
}

// soon is a context that no test should live to see the end of.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// all is what a read yields.
func all(read iter.Seq2[[]*kgo.Record, error]) (records []*kgo.Record, err error) {
	for some, err := range read {
		if err != nil {
			return records, err
		}
		records = append(records, some...)
	}
	return records, nil
}

// mentions wants an error with each of the parts in its text.
func mentions(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
}

func TestClusterIDIsAskedOnce(t *testing.T) {
	t.Parallel()
	c := brokers(t, kfake.ClusterID("one"))
	asked := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, TopLevel: true, Observe: true, Count: -1, When: func(r kmsg.Request) bool {
		topics := r.(*kmsg.MetadataRequest).Topics
		return topics != nil && len(topics) == 0
	}})
	for _, log := range []interface {
		ClusterID(ctx context.Context) (string, error)
	}{sourceOf(t, seeds(c)), targetOf(t, seeds(c))} {
		for range 2 {
			if id, err := log.ClusterID(soon(t)); id != "one" || err != nil {
				t.Errorf("ClusterID = %q, %v, want %q", id, err, "one")
			}
		}
	}
	if n := asked.Hits(); n > 2 {
		t.Errorf("%d requests by two clusters, want one each", n)
	}
}

func TestTopics(t *testing.T) {
	t.Parallel()
	c := brokers(t, kfake.SeedTopics(3, "payments"))
	s := sourceOf(t, seeds(c))
	ask := func() map[string]mirror.Topic {
		t.Helper()
		topics, err := s.Topics(soon(t), []string{orders.Topic, "payments", "none"})
		if err != nil {
			t.Fatal(err)
		}
		return topics
	}
	first := ask()
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, []string{orders.Topic, "payments"}) {
		t.Errorf("topics %q, want those that exist", got)
	}
	if first["payments"].Partitions != 3 || len(first["payments"].ID) != 22 {
		t.Errorf("payments = %+v, want 3 partitions and an id of 22 characters", first["payments"])
	}
	if diff := cmp.Diff(first, ask()); diff != "" {
		t.Errorf("asked again (-first +second):\n%s", diff)
	}
	if err := errors.Join(c.DeleteTopic(orders.Topic), c.CreateTopic(orders.Topic, 2, nil)); err != nil {
		t.Fatal(err)
	}
	if again := ask()[orders.Topic]; again.ID == first[orders.Topic].ID || again.Partitions != 2 {
		t.Errorf("recreated topic %+v, want another id than %s and 2 partitions", again, first[orders.Topic].ID)
	}
}

func TestTopicsOnOldBrokers(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	c.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := r.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = new(orders.Topic)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	topics, err := sourceOf(t, seeds(c)).Topics(soon(t), []string{orders.Topic})
	if err != nil || topics[orders.Topic].ID != "" {
		t.Errorf("Topics = %v, %v, want an empty id where brokers have none", topics, err)
	}
	if id, err := sourceOf(t, seeds(c)).ClusterID(soon(t)); id != "" || err != nil {
		t.Errorf("ClusterID = %q, %v, want none", id, err)
	}
}

func TestTopicsThatCannotBeDescribed(t *testing.T) {
	t.Parallel()
	c := brokers(t, kfake.SeedTopics(1, "secret"))
	c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: "secret", Err: kerr.TopicAuthorizationFailed, Count: -1})
	topics, err := sourceOf(t, seeds(c)).Topics(soon(t), []string{orders.Topic, "secret"})
	mentions(t, err, "source topic secret", "grant Describe (IAM: kafka-cluster:DescribeTopic) on topic secret")
	if _, ok := topics[orders.Topic]; !ok || len(topics) != 1 {
		t.Errorf("topics %v, want the one that can be described", topics)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	nobody := []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}
	for name, ask := range map[string]func(ctx context.Context) error{
		"source: Ends":   func(ctx context.Context) error { _, err := sourceOf(t, nobody).Ends(ctx, orders); return err },
		"source: Topics": func(ctx context.Context) error { _, err := sourceOf(t, nobody).Topics(ctx, []string{"a"}); return err },
		"source: Read": func(ctx context.Context) error {
			_, err := all(sourceOf(t, nobody).Read(ctx, orders, 0, 1))
			return err
		},
		"target: Ensure":    func(ctx context.Context) error { return targetOf(t, nobody).Ensure(ctx, orders.Topic, 1) },
		"target: Limits":    func(ctx context.Context) error { _, err := targetOf(t, nobody).Limits(ctx, orders.Topic); return err },
		"target: Producer":  func(ctx context.Context) error { _, err := targetOf(t, nobody).Producer(ctx); return err },
		"target: ClusterID": func(ctx context.Context) error { _, err := targetOf(t, nobody).ClusterID(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			role, _, _ := strings.Cut(name, ":")
			begun := time.Now()
			mentions(t, ask(soon(t)), role+" cluster at 127.0.0.1:1", "connection refused", strings.ToUpper(role)+"_BOOTSTRAP_SERVERS")
			if waited := time.Since(begun); waited > 5*time.Second {
				t.Errorf("the error took %s, want it well before the deadline", waited)
			}
		})
	}
}

func TestBrokerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	c := brokers(t)
	c.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return nil, nil, true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := sourceOf(t, seeds(c)).Ends(ctx, orders)
	mentions(t, err, "orders-0", "source cluster at "+c.ListenAddrs()[0], "deadline exceeded")
}
