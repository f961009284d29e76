package pane

import (
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// Tail is the cursor of a list that grows at its end. While it follows, the
// newest row is in sight and nothing is selected, so that no key can act on a row
// that has just slid under the cursor (promise 2). The first key upwards selects
// the newest row; from then on the cursor stays on the row it is on, until it
// goes below the last one.
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

// Nav is kit.Cursor.Nav with the rules above.
func (t *Tail) Nav(do string, n int, key func(int) string) bool {
	last := n - 1
	switch {
	case n == 0:
		return false
	case do == screen.Bottom, do == screen.Down && t.Pos() == last:
		t.away = false
		return t.Cursor.Nav(screen.Bottom, n, key)
	case do == screen.Up && !t.away:
		t.away = true
		return true
	}
	if !t.Cursor.Nav(do, n, key) {
		return false
	}
	t.away = t.away || t.Pos() < last
	return true
}

// Leave stops following, for a row chosen in another way.
func (t *Tail) Leave() { t.away = true }

// Following reports whether new rows move the view; nothing is selected then.
func (t *Tail) Following() bool { return !t.away }

// Selected reports whether row i is the selected one.
func (t *Tail) Selected(i int) bool { return t.away && i == t.Pos() }

// Mark is the end as it was when the reader left it.
func (t *Tail) Mark() int { return t.mark }

// FollowNote tells in a heading that the list follows; with room also how to
// stop it.
func FollowNote(room bool) string {
	if room {
		return "following, k selects"
	}
	return "following"
}
