// Package mapping feeds a function from a Kafka topic the way a Lambda event source mapping does.
//
// A mapping has pollers. Each owns some of the topic's partitions and works in turns: it collects a batch, over all of its
// partitions, until the batch size, the batching window or the payload limit is reached; invokes the function with it, again and
// again until it succeeds; commits; and begins the next. So a partition's records come in order, one batch at a time, at least
// once, and a batch that does not succeed holds back every partition in it. With [Options.ReportItems] only the records that the
// function names are tried again. Pollers run side by side.
//
// At least once is a promise about the worst day, and rarely seen on a good one: [Faults] makes deliveries repeat and overlap.
//
// The rules are those of https://docs.aws.amazon.com/lambda/latest/dg/with-msk-configure.html and
// https://docs.aws.amazon.com/lambda/latest/dg/kafka-retry-configurations.html. Where those are silent: the pause between two
// attempts doubles from 100 ms to 2 s; a null header value is written as null; records of aborted transactions are not read.
package mapping
