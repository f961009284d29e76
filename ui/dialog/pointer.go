package dialog

// Click presses what the mouse hit: a button answers, an option is picked, a
// field gets the keys. It does nothing before the dialog is armed.
func (d *Dialog) Click(s Spot) Outcome {
	if !d.Armed() || d.asking {
		return Outcome{}
	}
	d.note = ""
	d.from = -1
	switch {
	case s.button >= 0 && s.button < len(d.Buttons):
		d.button = s.button
		return d.press(s.button)
	case s.field >= 0 && s.field < len(d.Fields):
		d.focus = s.field
		if f := d.Fields[s.field]; s.option >= 0 && s.option < len(f.shown) {
			f.pick, f.chosen = s.option, true
		}
	}
	return Outcome{}
}

// Wheel scrolls what the dialog tells by n lines.
func (d *Dialog) Wheel(n int) { d.scrollBy(n) }
