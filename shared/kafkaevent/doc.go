// Package kafkaevent reads the event of a Lambda event source mapping for Amazon MSK or self-managed Kafka and writes
// the answer to it.
//
// A mirror must hand on what the source holds, so the package tells apart what the event tells apart (null, empty and
// absent; order, repetition and emptiness of header names) and refuses what it cannot read for certain. Nothing that is
// doubtful is guessed, and nothing is dropped: a record that cannot be read ends its own partition with an error, an
// event that cannot be read is an error as a whole.
//
// [Decode] reads in one pass and in place: keys, values and header values are decoded over their own text and point
// into the payload. [Handler] is the function's entry: it owns the payload for the time of one invocation.
//
//	deliveries, err := kafkaevent.Decode(payload)
//	...
//	outcomes := task.Run(ctx, deliveries)
//
// The fields are those of the AWS pages "Using Lambda with Amazon MSK" and "Using Lambda with self-managed Apache
// Kafka". Where these are silent the package takes the reading that other runtimes' libraries were taught by real
// events; the comments at the fields say so.
package kafkaevent
