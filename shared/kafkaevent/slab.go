package kafkaevent

// firstChunk is how many items a slab's first chunk holds. Each further one is twice as large.
const firstChunk = 16

// slab builds many lists one after the other in few large chunks, so that a list costs no allocation of its own. A list
// that was cut never moves again. The zero slab is ready for use.
type slab[T any] struct {
	chunk []T // lists that were cut, then the one being built
	start int // where the one being built starts
}

// next appends an item to the list being built and returns it, to be assigned at once: it may hold old contents, and
// it moves when the list does.
func (s *slab[T]) next() *T {
	if len(s.chunk) == cap(s.chunk) {
		s.grow()
	}
	s.chunk = s.chunk[:len(s.chunk)+1]
	return &s.chunk[len(s.chunk)-1]
}

// grow moves the list being built to a new chunk.
func (s *slab[T]) grow() {
	list := s.chunk[s.start:]
	s.chunk = append(make([]T, 0, max(firstChunk, 2*cap(s.chunk))), list...)
	s.start = 0
}

// cut ends the list being built and returns it, nil when it is empty.
func (s *slab[T]) cut() []T {
	list := s.chunk[s.start:len(s.chunk):len(s.chunk)]
	s.start = len(s.chunk)
	if len(list) == 0 {
		return nil
	}
	return list
}
