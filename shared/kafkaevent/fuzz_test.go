package kafkaevent

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// eventFiles are the sample events by path.
func eventFiles(tb testing.TB) map[string][]byte {
	tb.Helper()
	paths, err := filepath.Glob("../../events/*.json")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("Glob = %v, %v, want sample events", paths, err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		if files[path], err = os.ReadFile(path); err != nil {
			tb.Fatal(err)
		}
	}
	return files
}

// FuzzDecode holds for all bytes:
//   - Decode does not panic and does not write outside of the payload;
//   - it errs exactly when its twin does;
//   - else both give the same deliveries, offsets of unread records included.
func FuzzDecode(f *testing.F) {
	for _, payload := range eventFiles(f) {
		f.Add(payload)
	}
	for _, record := range malformedRecords {
		f.Add(eventOf(goodRecord(4), record.json, goodRecord(9)))
	}
	f.Add([]byte(`{"eventSource":"aws:kafka","records":{"t-0":[{"topic":"t","partition":0,"offset":1,"timestamp":1,"headers":[{"a":[-1,0,01]}]}]}}`))
	f.Add([]byte("{\"eventSource\":\"aws:kafka\",\"records\":{\"t-0\":[{\"value\":\"QU\nJD\",\"key\":\"QQ\\u003d\\u003D\"}]}}"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		checkAgainstTwin(t, payload)
	})
}

// FuzzEvents holds for all events that writer.event can write:
//   - Decode and its twin give what the writer meant.
func FuzzEvents(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(checkWritten))
}
