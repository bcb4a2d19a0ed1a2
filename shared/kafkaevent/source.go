package kafkaevent

import (
	"errors"
	"fmt"
	"strings"
)

// expectation ends the error about an event that is not the function's.
const expectation = `; this function takes the event of a Kafka event source mapping: ` +
	`eventSource "aws:kafka" or "SelfManagedKafka", and records by partition`

// topLevel is what tells a Kafka trigger's event from others.
type topLevel struct {
	sources, maps int    // how often eventSource was a string, and records an object
	source        string // eventSource
	others        [8]string
	count         int // of the other fields; the first few are in others
}

// other notes a field that is of no use, for the error.
func (t *topLevel) other(name []byte) {
	if t.count < len(t.others) {
		t.others[t.count] = string(name)
	}
	t.count++
}

// check returns an error that says what was received unless the event is a Kafka trigger's.
func (t *topLevel) check() error {
	switch {
	case t.sources == 0:
		return fmt.Errorf("no eventSource among the fields %s%s", t.fields(), expectation)
	case t.sources > 1 || t.maps > 1:
		return errors.New("eventSource or records appears twice" + expectation)
	case !isKafka(t.source):
		return fmt.Errorf("eventSource %.64q%s", t.source, expectation)
	case t.maps == 0:
		return fmt.Errorf("no records by partition among the fields %s%s", t.fields(), expectation)
	}
	return nil
}

// isKafka knows the two sources that AWS documents, and a third that Powertools and Datadog accept beside them.
func isKafka(source string) bool {
	return source == "aws:kafka" || source == "SelfManagedKafka" || source == "aws:SelfManagedKafka"
}

// fields lists the first few other fields.
func (t *topLevel) fields() string {
	var b strings.Builder
	for i, name := range t.others[:min(t.count, len(t.others))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.40q", name)
	}
	if t.count > len(t.others) {
		b.WriteString(", ...")
	}
	return "{" + b.String() + "}"
}
