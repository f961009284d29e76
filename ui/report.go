package ui

import (
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/ui/dialog"
	"signalbox/ui/screen"
)

// bulk gathers the answers of one act on many targets.
type bulk struct {
	verb   string
	total  int
	done   int
	failed int
	lines  []bulkLine
}

// bulkLine is what became of one target.
type bulkLine struct {
	name, word string
	why        string // "" = done
}

func (b *bulk) did(name, word string) {
	b.done++
	b.lines = append(b.lines, bulkLine{name: name, word: word})
}

func (b *bulk) refused(name, why string) {
	b.failed++
	b.lines = append(b.lines, bulkLine{name: name, why: why})
}

// tellBulk says how an act on many went when the last answer is there: in one
// line if all went well, else target by target.
func (m *Model) tellBulk(b *bulk) tea.Cmd {
	if b.done+b.failed < b.total {
		return nil
	}
	title := fmt.Sprintf("%s: %d of %d done", b.verb, b.done, b.total)
	if b.failed == 0 {
		return m.toast(screen.Good, title)
	}
	g := m.look.styles.G
	var info []dialog.Line
	for _, failed := range []bool{true, false} {
		for _, l := range b.lines {
			if failed != (l.why != "") {
				continue
			}
			mark, word, tone := g.Check, l.word, dialog.OK
			if failed {
				mark, word, tone = g.Cross2, l.why, dialog.Bad
			}
			info = append(info, dialog.Line{
				{Text: mark + " ", Tone: tone}, {Text: text.Pad(l.name, 37) + " ", Tone: dialog.Plain}, {Text: word, Tone: dialog.Muted},
			})
		}
	}
	// It comes when the answers do, so it must not take a key that was meant for
	// something else.
	d := &dialog.Dialog{Title: title, Info: info, Wide: true, Auto: true, Buttons: []dialog.Button{{Label: "close", Key: "y"}}}
	return m.ask(d, nil, nil, nil)
}

// shortRefusal is a refusal in a few words: its code and what it means.
func shortRefusal(err error) string {
	var oe *acop.Error
	if errors.As(err, &oe) {
		if plain := acop.Info(oe.Code).Plain; plain != "" {
			return clean(string(oe.Code)) + ", " + plain
		}
	}
	return shortError(err)
}
