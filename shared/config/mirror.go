package config

import "time"

// Mirror is the mirror function's configuration.
type Mirror struct {
	Flow
	// DeliveryReport is "error" (fail the invocation) or "items" (batchItemFailures, for provisioned pollers).
	DeliveryReport string
	// Fencing is "auto" or "wait". Both are the waiting rule at present.
	Fencing string
}

// LoadMirror reads the mirror function's environment. The error is an [*Error] with every fault.
func LoadMirror(getenv Getenv) (Mirror, error) {
	r := reader{getenv: getenv}
	m := Mirror{
		Flow:           r.flow(),
		DeliveryReport: r.oneOf("DELIVERY_REPORT", "error", "items"),
		Fencing:        r.oneOf("FENCING", "auto", "wait"),
	}
	r.start()
	r.tolerance()
	return m, r.err()
}

// start accepts the one start position that there is so far.
func (r *reader) start() {
	const variable = "CONSUMER_AUTO_OFFSET_RESET"
	value := r.text(variable, "earliest")
	_, notATime := time.Parse(time.RFC3339, value)
	switch {
	case value == "earliest":
	case value == "latest" || notATime == nil:
		r.fault(variable, value, "only earliest is supported yet")
	default:
		r.fault(variable, value, "want earliest, latest or an RFC 3339 time")
	}
}

// tolerance accepts what there is so far: nothing is passed over.
func (r *reader) tolerance() {
	if value := r.oneOf("ERRORS_TOLERANCE", "none", "all"); value == "all" {
		r.fault("ERRORS_TOLERANCE", value, "only none is supported yet")
	}
	if value := r.text("ERRORS_DEADLETTERQUEUE_TOPIC_NAME", ""); value != "" {
		r.fault("ERRORS_DEADLETTERQUEUE_TOPIC_NAME", value, "dead letters are not supported yet: leave it empty")
	}
}
