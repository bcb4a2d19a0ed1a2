package config

import "time"

// Mirror is the mirror function's configuration.
type Mirror struct {
	Flow
	// DeliveryReport is "error" (fail the invocation) or "items" (batchItemFailures, for provisioned pollers).
	DeliveryReport string
	// Wait says that producers are never fenced: no right to Alter the target cluster is needed.
	Wait bool
	// DeadLetterTopic takes what the target refuses for good; empty: such a record stops its partition.
	DeadLetterTopic string
}

// LoadMirror reads the mirror function's environment. The error is an [*Error] with every fault.
func LoadMirror(getenv Getenv) (Mirror, error) {
	r := reader{getenv: getenv}
	m := Mirror{
		Flow:            r.flow(),
		DeliveryReport:  r.oneOf("DELIVERY_REPORT", "error", "items"),
		Wait:            r.oneOf("FENCING", "auto", "wait") == "wait",
		DeadLetterTopic: r.deadLetters(),
	}
	return m, r.err()
}

// Start is where partitions begin that were never mirrored.
type Start struct {
	Latest bool      // at the ends that they had when the flow was first seen; later ones at their log start
	At     time.Time // at the first record of that time; zero: not by time
}

// start reads consumer.auto.offset.reset. The zero Start is the log's start.
func (r *reader) start() Start {
	const variable = "CONSUMER_AUTO_OFFSET_RESET"
	switch value := r.text(variable, "earliest"); value {
	case "earliest":
	case "latest":
		return Start{Latest: true}
	default:
		at, err := time.Parse(time.RFC3339, value)
		if err == nil {
			return Start{At: at}
		}
		r.fault(variable, value, "want earliest, latest or an RFC 3339 time")
	}
	return Start{}
}

// deadLetters reads Connect's errors.tolerance and errors.deadletterqueue.topic.name.
func (r *reader) deadLetters() string {
	const tolerance, queue = "ERRORS_TOLERANCE", "ERRORS_DEADLETTERQUEUE_TOPIC_NAME"
	all := r.oneOf(tolerance, "none", "all") == "all"
	topic := r.topicPart(queue, r.text(queue, ""))
	switch {
	case all && topic == "" && !r.faulted(queue):
		r.fault(queue, "", "want the target topic that takes what the target refuses for good, or "+tolerance+"=none")
	case !all && topic != "":
		r.fault(queue, topic, "it is used only with "+tolerance+"=all")
	}
	return topic
}
