package kafkaevent

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// notText stands in a string for half of a surrogate pair, which encodes no character. The byte occurs in no UTF-8 text,
// so utf8.Valid tells such a string.
const notText = 0xff

// string takes a string and returns its characters, without a copy. Bytes that are not UTF-8 are left as they are.
func (s *scanner) string() []byte {
	if s.peek() != '"' {
		s.fail("want a string")
		return nil
	}
	s.at++
	for i, c := range s.text[s.at:] {
		if c == '"' {
			return s.take(i)
		}
		if c == '\\' {
			return s.unescape(s.at + i)
		}
	}
	s.at = len(s.text)
	s.fail("")
	return nil
}

// longString is string for texts that are long and rarely hold an escape: it looks for the end many bytes at a time.
func (s *scanner) longString() []byte {
	rest := s.text[s.at+1:]
	n := bytes.IndexByte(rest, '"')
	if n < 0 || bytes.IndexByte(rest[:n], '\\') >= 0 {
		return s.string()
	}
	s.at++
	return s.take(n)
}

// take returns the next n bytes and passes over them and the quote behind them.
func (s *scanner) take(n int) []byte {
	start := s.at
	s.at += n + 1
	return s.text[start : start+n]
}

// unescape is the end of string for a text with its first escape at from. It moves the text to the left as escapes
// shrink.
func (s *scanner) unescape(from int) []byte {
	start, to := s.at, from
	for s.at = from; s.at < len(s.text); {
		switch c := s.text[s.at]; c {
		case '"':
			s.at++
			return s.text[start:to]
		case '\\':
			s.at++
			to = s.escape(to)
		default:
			s.text[to] = c
			to++
			s.at++
		}
	}
	s.fail("")
	return nil
}

// escape takes what stands behind a backslash, writes its character at index to and returns the index behind it. The
// shortest escape of a character of n UTF-8 bytes is longer than n, so it never overtakes the reading.
func (s *scanner) escape(to int) int {
	if s.at >= len(s.text) {
		s.fail("")
		return to
	}
	c := s.text[s.at]
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return s.unicodeEscape(to)
	default:
		s.fail("unknown escape")
		return to
	}
	s.at++
	s.text[to] = c
	return to + 1
}

// unicodeEscape is escape for uXXXX, and for the second half of a surrogate pair behind it.
func (s *scanner) unicodeEscape(to int) int {
	r, ok := s.hex(s.at + 1)
	if !ok {
		s.fail("want four hexadecimal digits")
		return to
	}
	s.at += 5
	if utf16.IsSurrogate(r) {
		pair := utf8.RuneError
		if bytes.HasPrefix(s.text[s.at:], []byte(`\u`)) {
			if low, ok := s.hex(s.at + 2); ok {
				pair = utf16.DecodeRune(r, low)
			}
		}
		if pair == utf8.RuneError {
			s.text[to] = notText
			return to + 1
		}
		s.at += 6
		r = pair
	}
	return to + utf8.EncodeRune(s.text[to:], r)
}

// hex reads four hexadecimal digits at index i.
func (s *scanner) hex(i int) (r rune, ok bool) {
	if len(s.text)-i < 4 {
		return 0, false
	}
	for _, c := range s.text[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
