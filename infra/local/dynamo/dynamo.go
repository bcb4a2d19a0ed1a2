// Package dynamo is an embedded DynamoDB: minidyn behind HTTP, with the one thing it lacks that the state store needs.
package dynamo

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/truora/minidyn/server"
)

// Start serves an empty DynamoDB on loopback. Close it.
func Start() *httptest.Server {
	return httptest.NewServer(&remover{minidyn: server.NewServer()})
}

// remover makes REMOVE work. minidyn 0.8.2 accepts the clause and leaves the attributes where they are, so a successful
// update is followed by a put of the item without them. One request runs at a time, which keeps the pair atomic.
type remover struct {
	mu      sync.Mutex
	minidyn http.Handler
}

const target = "X-Amz-Target"

// ServeHTTP implements http.Handler.
func (r *remover) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var body bytes.Buffer
	if _, err := body.ReadFrom(request.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := r.call(request, request.Header.Get(target), body.Bytes())
	if names := removed(request.Header.Get(target), body.Bytes()); answer.Code == http.StatusOK && len(names) > 0 {
		if failed := r.remove(request, body.Bytes(), names); failed != nil {
			answer = failed
		}
	}
	maps.Copy(w.Header(), answer.Header())
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer.Body.Bytes())), 10)) // minidyn sends none, and the SDK warns
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client is gone: nobody to tell
}

// call asks minidyn.
func (r *remover) call(request *http.Request, operation string, body []byte) *httptest.ResponseRecorder {
	asked := request.Clone(request.Context())
	asked.Header.Set(target, operation)
	asked.ContentLength = int64(len(body))
	asked.Body = readCloser{bytes.NewReader(body)}
	answer := httptest.NewRecorder()
	r.minidyn.ServeHTTP(answer, asked)
	return answer
}

type readCloser struct{ *bytes.Reader }

// Close implements io.Closer.
func (readCloser) Close() error { return nil }

// update is the part of an UpdateItem request that matters here.
type update struct {
	TableName                json.RawMessage
	Key                      json.RawMessage
	UpdateExpression         string
	ExpressionAttributeNames map[string]string
}

// removed are the top-level attributes that an UpdateItem removes.
func removed(operation string, body []byte) []string {
	var u update
	if !strings.HasSuffix(operation, ".UpdateItem") || json.Unmarshal(body, &u) != nil {
		return nil
	}
	_, clause, ok := strings.Cut(u.UpdateExpression, "REMOVE ")
	if !ok {
		return nil
	}
	for _, next := range []string{" SET ", " ADD ", " DELETE "} {
		clause, _, _ = strings.Cut(clause, next)
	}
	var names []string
	for name := range strings.SplitSeq(clause, ",") {
		name = strings.TrimSpace(name)
		if full, ok := u.ExpressionAttributeNames[name]; ok {
			name = full
		}
		names = append(names, name)
	}
	return names
}

// remove puts the item again without the named attributes. It returns the answer that failed, if one did.
func (r *remover) remove(request *http.Request, body []byte, names []string) *httptest.ResponseRecorder {
	var u update
	_ = json.Unmarshal(body, &u) // removed has decoded it before
	get, _ := json.Marshal(map[string]json.RawMessage{"TableName": u.TableName, "Key": u.Key, "ConsistentRead": json.RawMessage("true")})
	got := r.call(request, "DynamoDB_20120810.GetItem", get)
	var item struct{ Item map[string]json.RawMessage }
	if err := json.Unmarshal(got.Body.Bytes(), &item); err != nil || got.Code != http.StatusOK {
		return got
	}
	for _, name := range names {
		delete(item.Item, name)
	}
	put, _ := json.Marshal(struct {
		TableName json.RawMessage
		Item      map[string]json.RawMessage
	}{u.TableName, item.Item})
	if answer := r.call(request, "DynamoDB_20120810.PutItem", put); answer.Code != http.StatusOK {
		return answer
	}
	return nil
}
