package theme

// Name is a theme as the configuration names it.
type Name string

// The themes. Auto asks the terminal and begins dark.
const (
	Auto         Name = "auto"
	Dark         Name = "dark"
	Light        Name = "light"
	HighContrast Name = "high-contrast"
)

// Valid reports whether n names a theme.
func (n Name) Valid() bool {
	switch n {
	case "", Auto, Dark, Light, HighContrast:
		return true
	}
	return false
}

// Depth is how many colours the terminal shows.
type Depth int

// The colour depths. 256 colours are made from true colour by the renderer.
const (
	TrueColor Depth = iota
	Basic16
	NoColor
)

// Options choose a theme.
type Options struct {
	Name  Name
	Dark  bool // what the terminal said about its background
	Depth Depth
	ASCII bool
}

// Styles is everything a view draws with.
type Styles struct {
	Text   Style // the terminal's own foreground
	Strong Style // bold text
	Muted  Style // secondary words
	Faint  Style // lines and rules
	Accent Style // the one accent: keys, focus, links
	Title  Style // titles of focused panes: accent and bold
	OK     Style
	Wait   Style
	Warn   Style
	Bad    Style
	Fresh  Style // text that changed a moment ago
	Dimmed Style // superseded, closed: muted and italic
	Key    Style // a key in the key row
	Field  Style // an input field
	// Badge is a word on its own background: FROZEN, READ-ONLY.
	Badge Style
	// Match is a search hit.
	Match Style

	G *Glyphs
	// Color is false when states must be told by glyph and word alone.
	Color bool
}

// New builds the styles for o.
func New(o Options) *Styles {
	b := builder{depth: o.Depth}
	switch {
	case o.Name == HighContrast && o.Dark:
		b.p = darkContrastPalette
	case o.Name == HighContrast:
		b.p = lightContrastPalette
	case o.Name == Light, o.Name != Dark && !o.Dark:
		b.p = lightPalette
	default:
		b.p = darkPalette
		o.Dark = true
	}
	b.dark = o.Dark || o.Name == Dark
	s := b.styles()
	s.G = &Unicode
	if o.ASCII {
		s.G = &ASCII
	}
	return s
}

// builder makes Styles from a palette at one colour depth.
type builder struct {
	p     palette
	depth Depth
	dark  bool
}

func (b builder) styles() *Styles {
	p := b.p
	return &Styles{
		Text:   b.text(false),
		Strong: b.text(true),
		Muted:  b.fg(p.muted, "", spec{}),
		Faint:  b.fg(p.faint, "", spec{}),
		Accent: b.fg(p.accent, b.basic("36"), spec{}),
		Title:  b.fg(p.accent, b.basic("36"), spec{bold: true}),
		OK:     b.fg(p.ok, b.basic("32"), spec{}),
		Wait:   b.fg(p.wait, b.basic("34"), spec{}),
		Warn:   b.fg(p.warn, b.basic("33"), spec{}),
		Bad:    b.fg(p.bad, b.basic("31"), spec{bold: b.depth != TrueColor}),
		Fresh:  b.text(true),
		Dimmed: b.fg(p.muted, "", spec{italic: true}),
		Key:    b.fg(p.accent, b.basic("36"), spec{bold: true}),
		Field:  b.fg(p.text, "", spec{under: true}),
		Badge:  b.solid(spec{bold: true}),
		Match:  b.solid(spec{}),
		Color:  b.depth != NoColor,
	}
}

// text is the terminal's own foreground; on the selection it needs a colour of
// its own, because the selection's background is ours.
func (b builder) text(bold bool) Style {
	base := spec{bold: bold}
	on := base
	on.fg = b.color(b.p.text, b.selText())
	return b.on(base, on)
}

// fg is a token on the terminal's background and on the selection. basic is its
// parameter at 16 colours, "" for the terminal's own foreground.
func (b builder) fg(c rgb, basic string, extra spec) Style {
	base := extra
	base.fg = b.color(c, basic)
	on := base
	if b.depth == Basic16 {
		// Sixteen colours promise no contrast on the selection's blue.
		on.fg = b.selText()
	}
	return b.on(base, on)
}

// on adds the selections' backgrounds to the spec meant for selected rows.
func (b builder) on(base, on spec) Style {
	sel, off := on, on
	switch b.depth {
	case NoColor:
		sel.reverse = true
		off.under = true
	case Basic16:
		sel.bg, off.bg = "44", "100"
		if !b.dark {
			off.bg = "47"
			off.fg = "30"
		}
	default:
		sel.bg, off.bg = bgOf(b.p.sel), bgOf(b.p.selOff)
	}
	return Style{open: base.open(), sel: sel.open(), selOff: off.open()}
}

// solid is text on a ground of its own, for badges and hits.
func (b builder) solid(extra spec) Style {
	s := extra
	switch b.depth {
	case NoColor:
		s.reverse = true
	case Basic16:
		s.fg, s.bg = "30", "43"
	default:
		s.fg, s.bg = fgOf(b.p.grounds[0]), bgOf(b.p.warn)
	}
	o := s.open()
	return Style{open: o, sel: o, selOff: o}
}

func (b builder) color(c rgb, basic string) string {
	switch b.depth {
	case NoColor:
		return ""
	case Basic16:
		return basic
	}
	return fgOf(c)
}

// basic is the colour of sixteen for one of the plain ones, as it can be read on
// the ground: on a dark one the bright one, and magenta for blue, which is nearly
// black in many terminals, bright or not.
func (b builder) basic(plain string) string {
	switch {
	case !b.dark:
		return plain
	case plain == "34":
		return "95"
	}
	return "9" + plain[1:]
}

func (b builder) selText() string { return "97" }
