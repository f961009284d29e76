package pane

import (
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// Tail is the cursor of a list that grows at its end: it stays on the newest row
// until the reader goes up, and from then on stays on the row it is on.
type Tail struct {
	kit.Cursor
	away bool
	mark int // the end of the list when the reader left it
}

// Sync is kit.Cursor.Sync for n rows of which the last is number end-1 over all
// time.
func (t *Tail) Sync(n, end, h int, key func(int) string, find func(string) int) {
	t.Cursor.Sync(n, h, key, find)
	if !t.away {
		t.mark = end
		t.To(n-1, n, key)
	}
}

// Nav is kit.Cursor.Nav; the last row resumes following.
func (t *Tail) Nav(do string, n int, key func(int) string) bool {
	if !t.Cursor.Nav(do, n, key) {
		return false
	}
	t.away = n > 0 && t.Pos() < n-1 && (do != screen.Bottom)
	return true
}

// Leave stops following, for a row chosen in another way.
func (t *Tail) Leave() { t.away = true }

// Following reports whether new rows move the cursor.
func (t *Tail) Following() bool { return !t.away }

// New counts the rows that came since the reader left the end.
func (t *Tail) New(end int) int {
	if !t.away {
		return 0
	}
	return max(0, end-t.mark)
}

// Mark is the end as it was when the reader left it.
func (t *Tail) Mark() int { return t.mark }
