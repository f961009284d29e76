package theme

// Glyphs are the single-width signs the dashboard draws with. Every one is one
// cell wide under both width models (clusters and wcwidth).
type Glyphs struct {
	ASCII bool

	// H and V are the lines between panes; TeeDown and TeeUp join them.
	H, V, TeeDown, TeeUp, Cross                string
	TopLeft, TopRight, BottomLeft, BottomRight string

	Cursor   string // left of the selected row
	Mark     string // of a marked row
	Ellipsis string
	Dot      string // between facts
	Arrow    string // from → to
	Up, Down string // more above, more below
	Folded   string
	Open     string
	On, Off  string // a connection that is up, down
	Running  string
	Check    string
	Cross2   string // failed
	Bang     string // needs a decision
	Query    string // asks for a grant
	Cycle    string // lease, renewal
	Block    string
	Pause    string
	Circle   string // ready, waiting to begin
	Half     string // in progress
	Flag     string
	Link     string

	// Bar are the fillings of one cell of a bar from empty to full; with two
	// entries the bar is drawn in brackets.
	Bar []string
}

// Unicode is the usual set.
var Unicode = Glyphs{
	H: "─", V: "│", TeeDown: "┬", TeeUp: "┴", Cross: "┼",
	TopLeft: "┌", TopRight: "┐", BottomLeft: "└", BottomRight: "┘",
	Cursor: "▌", Mark: "+", Ellipsis: "…", Dot: "·", Arrow: "→", Up: "↑", Down: "↓",
	Folded: "▸", Open: "▾", On: "●", Off: "○", Running: "▶", Check: "✓", Cross2: "✗",
	Bang: "!", Query: "?", Cycle: "↺", Block: "■", Pause: "=", Circle: "○", Half: "◐",
	Flag: "▲", Link: "↳",
	Bar: []string{"─", "╾", "━"},
}

// ASCII is the set of --ascii.
var ASCII = Glyphs{
	ASCII: true,
	H:     "-", V: "|", TeeDown: "+", TeeUp: "+", Cross: "+",
	TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
	Cursor: ">", Mark: "+", Ellipsis: "~", Dot: "-", Arrow: ">", Up: "^", Down: "v",
	Folded: ">", Open: "v", On: "*", Off: "o", Running: ">", Check: "v", Cross2: "x",
	Bang: "!", Query: "?", Cycle: "@", Block: "#", Pause: "=", Circle: "o", Half: "*",
	Flag: "^", Link: "\\",
	Bar: []string{"-", "#"},
}
