// Package offsetsync translates offsets that consumer groups committed on the source into offsets of the target.
//
// A [Store] is MM2's OffsetSyncStore: fed with the offset-syncs topic in its order, it keeps 64 slots per source partition,
// close together near the newest sync and exponentially sparser with age. Where it answers, it answers exactly as Java does
// (OffsetSyncStore.java of Kafka 4.1), so that a group fails over to the same place whoever wrote the checkpoint.
//
// The invariant: a translation is never ahead. A sync says that one record of the source is one record of the target, and
// nothing of the records around it: compaction, transaction markers and dropped records leave gaps on either side. So a
// group that stands at a sync goes on at its record, and one that stands past it goes on at the record after it, whatever
// the distance. Adding the distance instead would skip records wherever the source has more gaps than the target
// (KAFKA-12468). The price is that records are read again: up to the distance to the nearest kept sync at or below.
//
// For a store that is not being fed, a higher upstream offset never translates to a lower downstream one, as long as the
// downstream offsets of the syncs rise with the upstream ones; only a target whose log went back breaks that. Between two
// syncs fed to it, the translation of the same upstream offset may go back, because the sync it rested on may give way to
// an older one. Who publishes translations has to hold them against the last ones.
//
// Syncs are all that MM2 knows. [Runs] know both offsets of every record: where they reach, a group goes on exactly where it
// was. They travel in a header of the partition's newest sync ([Header]), which Java's readers ignore.
package offsetsync
