package queue

// rect is a part of the screen; its first line is its heading.
type rect struct{ x, y, w, h int }

func (r rect) has(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// plan is where the parts stand.
type plan struct {
	asks, tasks, context rect
	wide                 bool // the context stands beside, else below
}

// wideFrom is the width from which the context stands beside the asks.
const wideFrom = 100

// The least and the most cells of a context beside the asks.
const contextMin, contextMax = 44, 76

// arrange divides w×h cells for asks and live tasks.
func arrange(w, h, asks, tasks int) plan {
	if w <= 0 || h <= 0 {
		return plan{}
	}
	var p plan
	left, lh := w, h
	if w >= wideFrom {
		p.wide = true
		// Prose reads badly in long lines; what it does not need goes to the rows.
		left = w - 1 - min(max(w*2/5, contextMin), contextMax)
		p.context = rect{left + 1, 0, w - left - 1, h}
	}
	if tasks > 0 {
		// Live tasks get what they need, but never more than a third.
		th := min(tasks+1, max(3, lh/3))
		if lh-th >= 4 {
			lh -= th
			p.tasks = rect{0, lh, left, th}
		}
	}
	if !p.wide && lh >= 12 {
		// Below the asks: they take what they need, and leave it six lines.
		ah := min(asks+1, lh-6)
		if asks == 0 {
			ah = lh // for what is said instead; there is nothing to tell more of
			if tasks > 0 {
				ah = lh / 2
			}
		}
		p.context = rect{0, ah, left, lh - ah}
		lh = ah
	}
	p.asks = rect{0, 0, left, lh}
	return p
}
