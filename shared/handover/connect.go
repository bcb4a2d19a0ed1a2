package handover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"tidemark/shared/mm2"
)

// Connector is the name that a dedicated MM2 gives its source connector (MirrorMaker.java). In a Connect cluster it is
// whatever the connector was called there.
const Connector = "MirrorSourceConnector"

// Offset is one of the positions that Connect keeps for MM2's source connector: the source record that it copied last.
type Offset struct {
	Connector string
	Cluster   string // alias of the source
	mm2.TopicPartition
	Last int64 // offset of the record; MM2 goes on behind it
}

// wrapped is MirrorUtils.wrapPartition. The order of the fields is Java's, for Connect compares keys byte by byte.
type wrapped struct {
	Cluster   string `json:"cluster"`
	Partition *int32 `json:"partition"`
	Topic     string `json:"topic"`
}

// position is MirrorUtils.wrapOffset.
type position struct {
	Offset *int64 `json:"offset"`
}

// Key is the record's key as Connect's JsonConverter writes it without schemas.
func (o Offset) Key() ([]byte, error) {
	return encode([]any{o.Connector, wrapped{o.Cluster, &o.Partition, o.Topic}})
}

// Value is the record's value.
func (o Offset) Value() ([]byte, error) { return encode(position{&o.Last}) }

// encode leaves ">" as it is, which many a connector has in its name, as Java's Jackson does.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode Connect offset: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeOffset is the inverse of Key and Value; ok is false for what another kind of connector has written, and for a
// position that was removed. Last is negative for the latter.
func DecodeOffset(key, value []byte) (o Offset, ok bool, err error) {
	var parts []json.RawMessage
	if json.Unmarshal(key, &parts) != nil || len(parts) != 2 {
		return Offset{}, false, errors.New("decode key of a Connect offset: want a list of connector and partition")
	}
	var w wrapped
	if err := json.Unmarshal(parts[0], &o.Connector); err != nil {
		return Offset{}, false, fmt.Errorf("decode connector of a Connect offset: %w", err)
	}
	_ = json.Unmarshal(parts[1], &w) // MirrorCheckpointConnector's and others' partitions have other fields
	if w.Cluster == "" || w.Topic == "" || w.Partition == nil {
		return Offset{}, false, nil
	}
	o.Cluster, o.TopicPartition, o.Last = w.Cluster, mm2.TopicPartition{Topic: w.Topic, Partition: *w.Partition}, -1
	if len(value) == 0 || string(value) == "null" {
		return o, true, nil
	}
	var p position
	if json.Unmarshal(value, &p) != nil || p.Offset == nil || *p.Offset < 0 {
		return Offset{}, false, fmt.Errorf("decode Connect offset of %s: want an offset, not %.100q", o.TopicPartition, value)
	}
	o.Last = *p.Offset
	return o, true, nil
}
