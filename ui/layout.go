package ui

// The smallest screen that is drawn in full.
const (
	minW = 60
	minH = 16
)

// Rect is a rectangle of cells.
type Rect struct{ X, Y, W, H int }

// Has reports whether the cell x, y lies in r.
func (r Rect) Has(x, y int) bool { return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H }

// Rects is where everything stands. It is a pure function of the size.
type Rects struct {
	Small  bool // too small to draw: one honest line instead
	Header Rect
	Rule   Rect // above the body, with the screen's title
	Body   Rect // what a screen fills, one cell of air at both sides
	Over   Rect // where dialogs, palette and help stand, whatever toasts there are
	Base   Rect // the line below the body, with the state of filter and marks
	Toasts Rect // between it and the key row; no rows while there is nothing to say
	Keys   Rect
}

// Layout divides w×h cells with nothing to say above the key row.
func Layout(w, h int) Rects { return LayoutToasts(w, h, 0) }

// LayoutToasts divides w×h cells with rows of toasts above the key row; they never
// take more than a third of the body.
func LayoutToasts(w, h, rows int) Rects {
	if w < minW || h < minH {
		return Rects{Small: true}
	}
	n := max(0, min(rows, (h-4)/3))
	return Rects{
		Header: Rect{0, 0, w, 1},
		Rule:   Rect{0, 1, w, 1},
		Body:   Rect{1, 2, w - 2, h - 4 - n},
		Over:   Rect{1, 2, w - 2, h - 4},
		Base:   Rect{0, h - 2 - n, w, 1},
		Toasts: Rect{0, h - 1 - n, w, n},
		Keys:   Rect{0, h - 1, w, 1},
	}
}
