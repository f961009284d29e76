package store

import (
	"iter"
	"slices"
	"strings"

	"signalbox/model/acop"
)

// compare orders two items; it is total because ids are unique.
type compare func(a, b *acop.Item) int

func byID(a, b *acop.Item) int { return strings.Compare(a.WorkItem.WorkItemID, b.WorkItem.WorkItemID) }

// byEnd orders by the moment at which time alone will change an item.
func byEnd(a, b *acop.Item) int {
	if c := nextEnd(a).Compare(nextEnd(b)); c != 0 {
		return c
	}
	return byID(a, b)
}

// orders are the item orders that the projection keeps sorted.
var orders = map[Order]compare{OrderLatest: acop.Latest, OrderScore: acop.ByScore, OrderPriority: acop.ByPriority}

// blockSize is the most items of one block: moving half of it on an insert
// costs less than a microsecond.
const blockSize = 512

// sorted keeps items in order, in blocks, so that an insert among 100 000 moves
// hundreds of pointers and not all of them.
type sorted struct {
	cmp    compare
	blocks [][]*acop.Item
	n      int
}

// block finds the block that holds, or would take, it.
func (s *sorted) block(it *acop.Item) int {
	i, _ := slices.BinarySearchFunc(s.blocks, it, func(b []*acop.Item, it *acop.Item) int {
		return s.cmp(b[len(b)-1], it)
	})
	return i
}

func (s *sorted) insert(it *acop.Item) {
	s.n++
	if len(s.blocks) == 0 {
		s.blocks = [][]*acop.Item{{it}}
		return
	}
	i := min(s.block(it), len(s.blocks)-1)
	j, _ := slices.BinarySearchFunc(s.blocks[i], it, s.cmp)
	b := slices.Insert(s.blocks[i], j, it)
	s.blocks[i] = b
	if len(b) > blockSize {
		half := slices.Clone(b[blockSize/2:])
		clear(b[blockSize/2:])
		s.blocks[i] = b[:blockSize/2]
		s.blocks = slices.Insert(s.blocks, i+1, half)
	}
}

// remove takes out the item that compares equal to it, if there is one.
func (s *sorted) remove(it *acop.Item) {
	i := s.block(it)
	if i == len(s.blocks) {
		return
	}
	j, found := slices.BinarySearchFunc(s.blocks[i], it, s.cmp)
	if !found {
		return
	}
	s.n--
	s.blocks[i] = slices.Delete(s.blocks[i], j, j+1)
	if len(s.blocks[i]) == 0 {
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// after walks the items that come after it; nil means from the start.
func (s *sorted) after(it *acop.Item) iter.Seq[*acop.Item] {
	return func(yield func(*acop.Item) bool) {
		i, j := 0, 0
		if it != nil {
			if i = s.block(it); i == len(s.blocks) {
				return
			}
			var found bool
			if j, found = slices.BinarySearchFunc(s.blocks[i], it, s.cmp); found {
				j++
			}
		}
		for ; i < len(s.blocks); i, j = i+1, 0 {
			for _, x := range s.blocks[i][j:] {
				if !yield(x) {
					return
				}
			}
		}
	}
}
