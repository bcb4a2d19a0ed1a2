package kafkaevent

import (
	"bytes"
	"fmt"
)

// maxDepth bounds the nesting of a value that is passed over. The event's own structure is six deep.
const maxDepth = 64

// scanner walks JSON text (RFC 8259) from front to back. It accepts what encoding/json accepts, and control characters
// inside strings besides: they hide no structure. Strings lose their escapes in place, so the text is overwritten.
//
// The first fault sticks: it moves the scanner to the end, where every list ends and every token is missing. Callers
// therefore look at err once, when they are done.
type scanner struct {
	text []byte
	at   int // the next byte to read
	err  error
}

// fail records the first fault. It names a place, never the text.
func (s *scanner) fail(reason string) {
	if s.err == nil {
		if s.at >= len(s.text) {
			reason = "the text ends too early"
		}
		s.err = fmt.Errorf("byte %d: %s", s.at, reason)
	}
	s.at = len(s.text)
}

// peek passes over white space and returns the byte behind it without taking it; 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.text) && s.text[s.at] > ' ' {
		return s.text[s.at]
	}
	return s.peekBehindSpace()
}

func (s *scanner) peekBehindSpace() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// open takes the bracket that opens a list and reports whether it stands there; anything else is passed over as a value.
func (s *scanner) open(bracket byte) bool {
	if s.peek() != bracket {
		s.skip(0)
		return false
	}
	s.at++
	return true
}

// more reports whether the open list has another member, and takes the comma before it. At the end of the list it takes
// the closing bracket. At the end of the text a list that was just opened pretends to have one, which then is missing.
//
//	for first := true; s.more(']', first); first = false {
func (s *scanner) more(bracket byte, first bool) bool {
	switch c := s.peek(); {
	case c == bracket:
		s.at++
		return false
	case first:
		return true
	case c == ',':
		s.at++
		return true
	}
	s.fail("want a comma or the end of the list")
	return false
}

// name takes an object member's name and the colon behind it.
func (s *scanner) name() []byte {
	name := s.string()
	if s.peek() != ':' {
		s.fail("want a colon")
		return nil
	}
	s.at++
	return name
}

// null takes the value null and reports whether it stands there.
func (s *scanner) null() bool {
	if s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return true
}

func (s *scanner) literal(word string) {
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		s.fail("want a value")
		return
	}
	s.at += len(word)
}

// skip passes over one value of any kind.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail("nested too deeply")
		return
	}
	switch s.peek() {
	case '"':
		s.string()
	case '{':
		s.at++
		for first := true; s.more('}', first); first = false {
			s.name()
			s.skip(depth + 1)
		}
	case '[':
		s.at++
		for first := true; s.more(']', first); first = false {
			s.skip(depth + 1)
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}
