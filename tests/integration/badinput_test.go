//go:build integration

package integration

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/infra/local/mapping"
	"tidemark/infra/local/runtimeapi"
	"tidemark/shared/mm2"
	"tidemark/shared/watermark"
)

// event is what a trigger delivers of one partition.
func event(t *testing.T, tp mm2.TopicPartition, records ...*kgo.Record) []byte {
	t.Helper()
	list := make([]map[string]any, len(records))
	for i, r := range records {
		list[i] = map[string]any{
			"topic": tp.Topic, "partition": tp.Partition, "offset": r.Offset, "timestamp": r.Timestamp.UnixMilli(), "timestampType": "CREATE_TIME",
			"value": base64.StdEncoding.EncodeToString(r.Value), "headers": []any{},
		}
	}
	payload, err := json.Marshal(map[string]any{"eventSource": "aws:kafka", "records": map[string]any{tp.String(): list}})
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// wantText checks that an error says all there is to know about a failure, and none of a record's content.
func wantText(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no failure, want one that says %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("failure does not say %q: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte(secret))) {
		t.Errorf("failure tells a record's value: %v", err)
	}
}

// secret is a value that may appear nowhere.
const secret = "wherefore-art-thou"

func secrets(tp mm2.TopicPartition, n int) []*kgo.Record {
	records := numbered(tp, n)
	for _, r := range records {
		r.Value = append([]byte(secret), r.Value...)
	}
	return records
}

func TestSourceTopicGone(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	records := secrets(tp, 20)
	write(t, source.client(t), records...)
	f := newFlow(t, tp.Topic, settings{idle: true})
	deliver := func(records ...*kgo.Record) error {
		_, err := f.function.Invoke(t.Context(), event(t, tp, records...))
		return err
	}
	if err := deliver(records[:10]...); err != nil {
		t.Fatal(err)
	}
	none := mm2.TopicPartition{Topic: tp.Topic + ".none"}
	_, err := f.function.Invoke(t.Context(), event(t, none, records[:1]...))
	wantText(t, err, none.String(), "no such topic")

	if _, err := source.admin(t).DeleteTopic(t.Context(), tp.Topic); err != nil {
		t.Fatal(err)
	}
	source.awaitPartitions(t, tp.Topic, 0)
	wantText(t, deliver(records[10:]...), tp.String(), "no such topic")
	f.untouched(t, 0, 10)

	source.topic(t, 1)
	again := secrets(tp, 15)
	write(t, source.client(t), again...)
	if err := deliver(again[10:]...); err != nil { // as a running consumer does: the offset is in its place
		t.Fatal(err)
	}
	_, downstream := f.partition(0)
	if s, err := f.store.Get(t.Context(), tp); err != nil || s.Next != 15 || target.end(t, downstream) != 25 {
		t.Errorf("next %d, the target ends at %d, %v, want the new log's 15 records behind the old one's 10", s.Next, target.end(t, downstream), err)
	}
}

func TestTargetUnreachable(t *testing.T) {
	const partitions = 2
	topic := source.topic(t, partitions)
	client := source.client(t)
	f := newFlow(t, topic, settings{timeout: 6 * time.Second, trigger: mapping.Options{BatchSize: 300}})
	add := func() {
		t.Helper()
		for p := range int32(partitions) {
			write(t, client, secrets(mm2.TopicPartition{Topic: topic, Partition: p}, 1000)...)
		}
	}
	outage := func(when string, says ...string) {
		t.Helper()
		target.stop()
		began := f.failures()
		add()
		err := f.failure(t, began, time.Minute)
		t.Logf("%s: %v", when, err)
		wantText(t, err, append(says, topic+"-")...)
		if err := target.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.caughtUp(t, partitions, 2*time.Minute)
	}
	outage("at the first contact", target.addr, "check TARGET_BOOTSTRAP_SERVERS")
	outage("of a warm function", "at 1000", "broker out of reach")
	f.same(t, 2*1000*partitions)
}

func TestRecordTooLarge(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	remote := target.topicNamed(t, "source."+tp.Topic, 1, "max.message.bytes=5000")
	records := secrets(tp, 100)
	const large = 57
	records[large].Value = append([]byte(secret), noise(20_000)...)
	write(t, source.client(t), records...)
	f := newFlow(t, tp.Topic, settings{})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		s, err := f.store.Get(t.Context(), tp)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("not parked within a minute: %+v, %v", s, err)
		}
		if s.Stall != nil && s.Owner == "" {
			if s.Stall.Kind != watermark.Refused || s.Stall.Offset != large || s.Stall.RetryAt.IsZero() {
				t.Errorf("stall = %+v, want record %d refused, and tried again later", s.Stall, large)
			}
			wantText(t, errors.New(s.Stall.Reason), tp.String(), strconv.Itoa(large), "max.message.bytes is 5000", "raise")
			break
		}
	}
	f.untouched(t, 0, large)
	target.configure(t, remote, "max.message.bytes", "1000000")
	for range 2 { // a producer that knows the limit of before refuses once
		_, _ = f.function.Invoke(t.Context(), fmt.Appendf(nil, `{"action":"catch-up","topic":%q,"partition":0}`, tp.Topic))
	}
	f.caughtUp(t, 1, time.Minute)
	f.same(t, len(records))
}

// TestDeadLetter has the target refuse a record in the middle of a batch for good: it goes to the dead letter queue, the others
// arrive in order, and the skip stands in the item.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
	remote := mm2.TopicPartition{Topic: target.topicNamed(t, "source."+tp.Topic, 1, "max.message.bytes=5000")}
	letters := mm2.TopicPartition{Topic: target.topicNamed(t, "letters."+tp.Topic, 1)}
	records := numbered(tp, 100)
	const large = 57
	records[large].Value = noise(20_000)
	write(t, source.client(t), records...)
	f := newFlow(t, tp.Topic, settings{env: []string{"ERRORS_TOLERANCE=all", "ERRORS_DEADLETTERQUEUE_TOPIC_NAME=" + letters.Topic}})
	f.reaches(t, 0, int64(len(records)))
	got := readFrom(t, target, remote, 0)
	if len(got) != len(records)-1 {
		t.Fatalf("%d records on the target, want all but one", len(got))
	}
	for i, r := range got {
		if want := records[i+i/large]; !bytes.Equal(r.Value, want.Value) {
			t.Fatalf("record %d has %d bytes, want %d", i, len(r.Value), len(want.Value))
		}
	}
	found := readFrom(t, target, letters, 0)
	if len(found) != 1 || !bytes.Equal(found[0].Value, records[large].Value) {
		t.Fatalf("%d dead letters, want the one record", len(found))
	}
	for name, part := range map[string]string{"topic": tp.Topic, "partition": "0", "offset": strconv.Itoa(large), "exception.message": "max.message.bytes is 5000"} {
		if value := header(found[0], "__connect.errors."+name); !strings.Contains(value, part) {
			t.Errorf("the letter's %s is %q, want it to say %q", name, value, part)
		}
	}
	s, err := f.store.Get(t.Context(), tp)
	if err != nil || s.Skips != 1 || s.Stall != nil || s.Lost != 0 {
		t.Errorf("item: %d skips, stall %+v, %v, want the skip alone", s.Skips, s.Stall, err)
	}
}

// header is the value of a record's header; empty if it has none of that name.
func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// TestWrongSettings delivers to functions that reach the wrong thing, or nothing.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	nowhere := "127.0.0.1:1" // nobody listens there
	tests := []struct {
		name, setting string
		want          []string
	}{
		{"no table", "STATE_TABLE=none", []string{"table none"}},
		{"no DynamoDB", "AWS_ENDPOINT_URL_DYNAMODB=http://" + nowhere, []string{"table state-"}},
		{"no source", "SOURCE_BOOTSTRAP_SERVERS=" + nowhere, []string{"source cluster at " + nowhere, "SOURCE_BOOTSTRAP_SERVERS"}},
		{"no target", "TARGET_BOOTSTRAP_SERVERS=" + nowhere, []string{"target cluster at " + nowhere, "TARGET_BOOTSTRAP_SERVERS"}},
		{"one cluster on both sides", "TARGET_BOOTSTRAP_SERVERS=" + source.addr, []string{"the same cluster", "TARGET_BOOTSTRAP_SERVERS"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tp := mm2.TopicPartition{Topic: source.topic(t, 1)}
			records := secrets(tp, 5)
			write(t, source.client(t), records...)
			f := newFlow(t, tp.Topic, settings{idle: true, timeout: 6 * time.Second, env: []string{tt.setting}})
			_, err := f.function.Invoke(t.Context(), event(t, tp, records...))
			t.Log(err)
			wantText(t, err, append(tt.want, tp.String())...)
			if n := target.partitions(t, f.remote) + source.partitions(t, f.remote); n != 0 {
				t.Errorf("remote topic has %d partitions, want none", n)
			}
		})
	}
}

func TestFaultsOfTheConfigurationAreAllNamedAtInit(t *testing.T) {
	t.Parallel()
	f := newFlow(t, source.topic(t, 1), settings{idle: true, env: []string{"TARGET_CLUSTER_ALIAS=source", "FENCING=never", "STATE_TABLE="}})
	_, err := f.function.Invoke(t.Context(), []byte("{}"))
	if _, ok := errors.AsType[*runtimeapi.InitError](err); !ok {
		t.Errorf("Invoke = %v, want an InitError", err)
	}
	wantText(t, err, "TARGET_CLUSTER_ALIAS", "FENCING", "STATE_TABLE")
}
