package kafkaevent

import (
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// headerList takes a record's headers, [{"name":[1,-2]},...], into the header slab. Null and [] are no headers.
func (d *decoder) headerList(r *record) {
	if d.null() {
		return
	}
	if !d.open('[') {
		r.malformed("headers are not an array")
		return
	}
	for first := true; d.more(']', first); first = false {
		d.header(r)
	}
}

// header takes one element of the list: an object of exactly one name, so that order and repetition survive.
func (d *decoder) header(r *record) {
	if !d.open('{') {
		r.malformed("a header is not an object")
		return
	}
	members := 0
	for first := true; d.more('}', first); first = false {
		name, ok := d.headerName(d.name())
		if !ok {
			r.malformed("a header name is not text")
		}
		*d.headers.next() = kgo.RecordHeader{Key: name, Value: d.headerValue(r)}
		members++
	}
	if members != 1 {
		r.malformed("a header has not exactly one name")
	}
}

// headerName returns the name as a string of its own. An event repeats few names, so each is copied and checked once.
func (d *decoder) headerName(text []byte) (name string, ok bool) {
	if name, ok = d.names[string(text)]; ok {
		return name, true
	}
	if !utf8.Valid(text) {
		return "", false
	}
	if d.names == nil {
		d.names = make(map[string]string)
	}
	name = string(text)
	d.names[name] = name
	return name, true
}

// headerValue takes an array of bytes, which Java writes signed and others unsigned, and decodes it over its own text.
// Null gives nil and [] an empty slice that is not nil. No library takes a string: it could be base64 or characters.
func (d *decoder) headerValue(r *record) []byte {
	if d.null() {
		return nil
	}
	start := d.at
	if !d.open('[') {
		r.malformed("a header value is neither an array nor null")
		return nil
	}
	to := start // the bracket: a number and what stands before it are longer than the byte, so reading stays ahead
	for first := true; d.more(']', first); first = false {
		to += d.smallNumbers(to)
		n, ok := parseInteger(d.numeral())
		if !ok || n < -128 || n > 255 {
			r.malformed("a header byte is not a whole number from -128 to 255")
			continue
		}
		d.text[to] = byte(n)
		to++
	}
	return d.text[start:to:to]
}

// smallNumbers takes as many of the elements that come next as are written in the usual way and are not the last: up to
// three digits and a comma right behind them. It writes their bytes from index to on and returns how many.
func (s *scanner) smallNumbers(to int) (count int) {
	text, at := s.text, s.at
	for {
		i, n, negative := at, 0, false
		if i < len(text) && text[i] == '-' {
			negative = true
			i++
		}
		first := i
		for ; i < len(text) && i < first+3 && isDigit(text[i]); i++ {
			n = n*10 + int(text[i]-'0')
		}
		usual := i > first && i < len(text) && text[i] == ',' && (text[first] != '0' || i == first+1)
		if negative {
			n = -n
		}
		if !usual || n < -128 || n > 255 {
			s.at = at
			return count
		}
		text[to+count] = byte(n)
		count++
		at = i + 1
	}
}
