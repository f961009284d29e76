package kit

// Cursor is the place in a list of rows that come and go. It holds on to its
// row by key, so that rows never move under it: when others arrive above, the
// list scrolls and the selected row keeps its line on the screen.
type Cursor struct {
	key string // of the selected row; "" = none yet
	pos int    // its index, as of the last Sync
	top int    // index of the first visible row
	h   int    // visible rows
}

// Sync fits the cursor to the rows as they are now: n rows, where key(i) names
// row i and find(key) gives the index of a row, or -1. find may be nil. Call it
// at the start of Update and of View; h is the number of visible rows.
func (c *Cursor) Sync(n, h int, key func(int) string, find func(string) int) {
	c.h = max(0, h)
	if n <= 0 {
		c.pos, c.top = 0, 0
		return
	}
	at := c.locate(n, key, find)
	if at < 0 {
		// The row is gone: stay at the same place in the list.
		at = min(c.pos, n-1)
		c.key = key(at)
	}
	c.top += at - c.pos
	c.pos = at
	c.clamp(n)
}

func (c *Cursor) locate(n int, key func(int) string, find func(string) int) int {
	if c.key == "" {
		return -1
	}
	if c.pos < n && key(c.pos) == c.key {
		return c.pos
	}
	if find != nil {
		return find(c.key)
	}
	for i := range n {
		if key(i) == c.key {
			return i
		}
	}
	return -1
}

func (c *Cursor) clamp(n int) {
	c.pos = max(0, min(c.pos, n-1))
	if c.h > 0 {
		c.top = max(c.pos-c.h+1, min(c.top, c.pos))
	}
	c.top = max(0, min(c.top, max(0, n-c.h)))
}

// Move goes by d rows and stops at the ends.
func (c *Cursor) Move(d, n int, key func(int) string) { c.To(c.pos+d, n, key) }

// To goes to row i, clamped.
func (c *Cursor) To(i, n int, key func(int) string) {
	if n <= 0 {
		return
	}
	c.pos = max(0, min(i, n-1))
	c.key = key(c.pos)
	c.clamp(n)
}

// Nav carries out one of the words of screen.Nav and reports whether it knew it.
func (c *Cursor) Nav(do string, n int, key func(int) string) bool {
	switch do {
	case "up":
		c.Move(-1, n, key)
	case "down":
		c.Move(1, n, key)
	case "page-up":
		c.Move(-max(1, c.h-1), n, key)
	case "page-down":
		c.Move(max(1, c.h-1), n, key)
	case "top":
		c.To(0, n, key)
	case "bottom":
		c.To(n-1, n, key)
	default:
		return false
	}
	return true
}

// Pos is the index of the selected row.
func (c *Cursor) Pos() int { return c.pos }

// Top is the index of the first visible row.
func (c *Cursor) Top() int { return c.top }

// Key is the key of the selected row, "" if there is none.
func (c *Cursor) Key() string { return c.key }

// SelectKey makes the row called key the selected one at the next Sync.
func (c *Cursor) SelectKey(key string) { c.key = key }

// Visible gives the half-open range of rows to draw out of n.
func (c *Cursor) Visible(n int) (from, to int) {
	return min(c.top, n), min(n, c.top+c.h)
}

// Hidden counts the rows out of sight above and below, out of n.
func (c *Cursor) Hidden(n int) (above, below int) {
	from, to := c.Visible(n)
	return from, n - to
}
