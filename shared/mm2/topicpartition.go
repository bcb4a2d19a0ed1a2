package mm2

import (
	"fmt"
	"strconv"
	"strings"
)

// TopicPartition names one partition of one topic. It is comparable, so it serves as a map key.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String returns "<topic>-<partition>": the form of Kafka's own tools, of a Lambda event's map keys, and of the state table's key.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// ParseTopicPartition is the inverse of [TopicPartition.String]. It splits at the last dash, because topic names may hold dashes.
func ParseTopicPartition(s string) (TopicPartition, error) {
	dash := strings.LastIndexByte(s, '-')
	if dash < 1 {
		return TopicPartition{}, fmt.Errorf("parse partition %q: want <topic>-<number>", s)
	}
	n, err := strconv.ParseUint(s[dash+1:], 10, 31)
	if err != nil {
		return TopicPartition{}, fmt.Errorf("parse partition %q: want <topic>-<number>", s)
	}
	return TopicPartition{Topic: s[:dash], Partition: int32(n)}, nil
}
