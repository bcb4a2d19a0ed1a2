package offsetsync

import "container/heap"

// Fold makes the list fit into that many bytes of its coding: it merges the two neighbours whose merging leaves the smallest
// bound in proportion to how far back they lie, the older ones first, as often as it takes: most groups stand near the end, and
// who is far behind has much to read anyway. The newest, as many as spared bytes hold, are left alone as long as others are
// there. It never forgets a stretch, so that one stretch stays at least. It takes n log n steps: a delivery from a compacted
// topic may bring thousands of stretches at once.
func (r *Runs) Fold(bytes, spared int) {
	size := r.size()
	if size <= bytes || len(r.list) < 2 {
		return
	}
	f := newFolding(r.list)
	for _, end := range []int{r.newest(spared), len(r.list)} {
		if size > bytes {
			f.offer(end)
		}
		for size > bytes && len(f.queue) > 0 {
			size -= f.merge()
		}
	}
	kept := r.list[:0]
	for i := 0; i < len(r.list); i = f.after[i] {
		kept = append(kept, r.list[i])
	}
	r.list = kept
}

// newest is the first of the newest stretches whose coding takes no more than so many bytes.
func (r *Runs) newest(bytes int) int {
	i := len(r.list)
	for ; i > 1; i-- {
		before := r.list[i-2]
		if bytes -= r.list[i-1].size(before.upstreamEnd(), before.downstreamEnd()); bytes < 0 {
			break
		}
	}
	return i
}

// folding is a list whose neighbours are being merged. A stretch takes the place of the older of the two.
type folding struct {
	list          []Stretch
	before, after []int // the neighbours that are left of one that is left; -1 and len(list) where there is none
	end           int   // the stretches from here on are not merged
	queue         cheapest
}

func newFolding(list []Stretch) *folding {
	f := &folding{list: list, before: make([]int, len(list)), after: make([]int, len(list))}
	for i := range list {
		f.before[i], f.after[i] = i-1, i+1
	}
	return f
}

// offer has the stretches before end merged, those that are left.
func (f *folding) offer(end int) {
	f.end, f.queue = end, make(cheapest, 0, 2*end)
	for i := 0; i < end && f.after[i] < end; i = f.after[i] {
		f.queue = append(f.queue, f.neighbours(i))
	}
	heap.Init(&f.queue)
}

// neighbours are stretch i and the next one that is left.
func (f *folding) neighbours(i int) neighbours {
	j := f.after[i]
	m := merged(f.list[i], f.list[j])
	return neighbours{first: i, second: j, cost: m.cost(f.list[len(f.list)-1].upstreamEnd())}
}

// cost is what a stretch may have a group read again, in proportion to how far it lies before the end of the list.
func (s Stretch) cost(end int64) float64 {
	return float64(s.UpstreamGaps+s.DownstreamGaps) / (float64(end-s.upstreamEnd()) + 1)
}

// merge merges the cheapest pair that is left, and returns how many bytes that saves. What follows is coded as before: its
// offsets are counted from the end of the two.
func (f *folding) merge() (saved int) {
	p := heap.Pop(&f.queue).(neighbours)
	i, j := p.first, p.second
	if f.after[i] != j || f.neighbours(i) != p {
		return 0 // one of the two was merged with another since
	}
	var upstream, downstream int64
	if b := f.before[i]; b >= 0 {
		upstream, downstream = f.list[b].upstreamEnd(), f.list[b].downstreamEnd()
	}
	a, b := f.list[i], f.list[j]
	m := merged(a, b)
	f.list[i], f.after[i], f.after[j] = m, f.after[j], gone
	if next := f.after[i]; next < len(f.list) {
		f.before[next] = i
	}
	if f.after[i] < f.end {
		heap.Push(&f.queue, f.neighbours(i))
	}
	if f.before[i] >= 0 {
		heap.Push(&f.queue, f.neighbours(f.before[i]))
	}
	return a.size(upstream, downstream) + b.size(a.upstreamEnd(), a.downstreamEnd()) - m.size(upstream, downstream)
}

// gone marks a stretch that was merged into another: it has no next one.
const gone = -1

// neighbours are two stretches, and what merging them costs.
type neighbours struct {
	first, second int
	cost          float64
}

// cheapest is a heap: the cheapest first, of equal ones the older.
type cheapest []neighbours

// Len implements heap.Interface.
func (c cheapest) Len() int { return len(c) }

// Less implements heap.Interface.
func (c cheapest) Less(i, j int) bool {
	return c[i].cost < c[j].cost || c[i].cost == c[j].cost && c[i].first < c[j].first
}

// Swap implements heap.Interface.
func (c cheapest) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface.
func (c *cheapest) Push(x any) { *c = append(*c, x.(neighbours)) }

// Pop implements heap.Interface.
func (c *cheapest) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// merged is one stretch in place of two neighbours: what lies between them becomes gaps inside it.
func merged(a, b Stretch) Stretch {
	a.UpstreamGaps += b.UpstreamGaps + b.Upstream - a.upstreamEnd()
	a.DownstreamGaps += b.DownstreamGaps + b.Downstream - a.downstreamEnd()
	a.UpstreamLen, a.DownstreamLen = b.upstreamEnd()-a.Upstream, b.downstreamEnd()-a.Downstream
	return a
}
