package kafkaevent

import "bytes"

// number takes a JSON number and returns its text.
func (s *scanner) number() []byte {
	s.peek()
	start := s.at
	s.accept('-')
	if !s.accept('0') {
		s.digits()
	}
	if s.accept('.') {
		s.digits()
	}
	if s.accept('e') || s.accept('E') {
		if !s.accept('+') {
			s.accept('-')
		}
		s.digits()
	}
	if s.err != nil {
		return nil
	}
	return s.text[start:s.at]
}

// accept takes c if it comes next.
func (s *scanner) accept(c byte) bool {
	if s.at == len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

// digits takes at least one digit.
func (s *scanner) digits() {
	end := s.at
	for end < len(s.text) && isDigit(s.text[end]) {
		end++
	}
	if end == s.at {
		s.fail("want a value")
		return
	}
	s.at = end
}

// numeral takes a number. Any other value is passed over and gives nil, which is no number to parseInteger.
func (s *scanner) numeral() []byte {
	if c := s.peek(); c != '-' && !isDigit(c) {
		s.skip(0)
		return nil
	}
	return s.number()
}

// quotedNumeral is numeral that takes a string that holds a number as well: some documents show "partition":"0".
func (s *scanner) quotedNumeral() []byte {
	if s.peek() == '"' {
		return s.string()
	}
	return s.numeral()
}

// parseInteger reads a whole number of 64 bits in JSON's notation: no plus sign, no leading zeros, no fraction, no
// exponent.
func parseInteger(text []byte) (n int64, ok bool) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	var u uint64 // 19 digits fit
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	if negative {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u < 1<<63
}

// parseMillis is parseInteger that lets a fraction of zeros stand: serializers that know floating-point numbers only
// write 1545084650987.0, which is a whole count of milliseconds all the same.
func parseMillis(text []byte) (ms int64, ok bool) {
	if whole, fraction, found := bytes.Cut(text, []byte(".")); found && len(fraction) > 0 &&
		len(bytes.Trim(fraction, "0")) == 0 {
		text = whole
	}
	return parseInteger(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
