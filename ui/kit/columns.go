package kit

// Col is a column of a table.
type Col struct {
	Title string
	W     int // cells wanted
	Min   int // cells below which it makes no sense; 0 means W
	Grow  int // share of what is left; 0 = none
	// Rank says how early the column goes when room is short: the highest goes
	// first, 0 never goes.
	Rank  int
	Right bool
}

// Widths lays cols out in w cells with one blank between two columns. A width
// of 0 means the column is not shown.
func Widths(cols []Col, w int) []int {
	ws := make([]int, len(cols))
	for i, c := range cols {
		ws[i] = c.W
	}
	for need(cols, ws, true) > w {
		if !dropOne(cols, ws) {
			break
		}
	}
	shrink(cols, ws, w)
	grow(cols, ws, w)
	return ws
}

// need counts the cells of the shown columns with their gaps, at their least
// width when least is set.
func need(cols []Col, ws []int, least bool) int {
	n, shown := 0, 0
	for i, c := range cols {
		if ws[i] == 0 {
			continue
		}
		shown++
		if least && c.Min > 0 {
			n += min(c.Min, ws[i])
		} else {
			n += ws[i]
		}
	}
	return n + max(0, shown-1)
}

func dropOne(cols []Col, ws []int) bool {
	at, rank := -1, 0
	for i, c := range cols {
		if ws[i] > 0 && c.Rank > rank {
			at, rank = i, c.Rank
		}
	}
	if at < 0 {
		return false
	}
	ws[at] = 0
	return true
}

func shrink(cols []Col, ws []int, w int) {
	over := need(cols, ws, false) - w
	for i := len(cols) - 1; i >= 0 && over > 0; i-- {
		if ws[i] == 0 || cols[i].Min == 0 || cols[i].Min >= ws[i] {
			continue
		}
		cut := min(over, ws[i]-cols[i].Min)
		ws[i] -= cut
		over -= cut
	}
}

func grow(cols []Col, ws []int, w int) {
	left := w - need(cols, ws, false)
	shares := 0
	for i, c := range cols {
		if ws[i] > 0 {
			shares += c.Grow
		}
	}
	if left <= 0 || shares == 0 {
		return
	}
	last := -1
	given := 0
	for i, c := range cols {
		if ws[i] == 0 || c.Grow == 0 {
			continue
		}
		n := left * c.Grow / shares
		ws[i] += n
		given += n
		last = i
	}
	ws[last] += left - given
}
