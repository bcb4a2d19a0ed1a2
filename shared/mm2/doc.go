// Package mm2 holds the words, topic names, replication policies and record bytes of Kafka's MirrorMaker 2, so that its
// Java clients read what Tidemark writes and either can take over from the other.
//
// [Names] knows what every internal topic of a flow is called. A [Policy] maps a source topic to its remote topic and back;
// [TopicFilter] decides with it which topics are mirrored. The records of the internal topics are [OffsetSync],
// [Checkpoint] and [Heartbeat]: each has Key, Value and a Decode function, and no Decode panics, whatever bytes it is given.
//
// An offset here is what Kafka's committed offset is: the next one to read. Everything in this package is a value without
// hidden state and safe for concurrent use.
package mm2
