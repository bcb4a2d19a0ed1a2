package mapping

import (
	"encoding/json"
	"fmt"
)

// answer is a partial batch response. For Kafka the identifier is an object, unlike that of the other sources.
type answer struct {
	BatchItemFailures []struct {
		ItemIdentifier item `json:"itemIdentifier"`
	} `json:"batchItemFailures"`
}

// item names a record.
type item struct {
	Partition string `json:"partition"` // "<topic>-<partition>"
	Offset    int64  `json:"offset"`
}

// failed returns what an answer reports as failed, in the batch's order. An answer that is null, {} or names nothing is a
// success. One that cannot be read, or names a record that the batch does not hold, fails the whole batch.
func failed(batch []entry, body []byte) ([]entry, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return batch, fmt.Errorf("decode answer: %w", err)
	}
	named := make(map[item]bool, len(a.BatchItemFailures))
	for _, f := range a.BatchItemFailures {
		named[f.ItemIdentifier] = true
	}
	var again []entry
	for _, e := range batch {
		if id := (item{e.partition, e.record.Offset}); named[id] {
			again = append(again, e)
			delete(named, id)
		}
	}
	for id := range named {
		return batch, fmt.Errorf("read answer: %s offset %d is not in the batch", id.Partition, id.Offset)
	}
	return again, nil
}
