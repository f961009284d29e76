package ui

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// frameSizes are the sizes at which everything the frame can show is drawn.
var frameSizes = [][2]int{{0, 0}, {1, 1}, {40, 10}, {60, 16}, {120, 40}, {240, 70}, {80, 24}}

// formless are the actions that open nothing over the screen, with what they do
// instead. Every other one is a form and is swept.
var formless = map[string]string{
	"requeue": "acts at once", "seen": "acts at once", "edit": "hands the terminal to the editor",
	"write-out": "writes a file", "copy": "copies", "mark": "marks", "mark-all": "marks", "mark-like": "marks",
	"next": "goes", "previous": "goes", "suspend": "suspends",
	"go-queue": "goes", "go-board": "goes", "go-tasks": "goes", "go-feed": "goes", "go-agents": "goes", "go-log": "goes",
}

// House rule 31, H-096: whatever lies over a screen fits in every world and at
// every size: each form of the registry with each of its fields, empty, filled,
// refused and about to be left; palette, help, filter, sheets and toasts. A form is
// opened once, and at each step the window goes through all the sizes under it, so
// that it is drawn at a size as well as brought there by a resize. The forms come
// from the registry: one that no world opens fails the test. With -short
// only the plainest world has forms: one goroutine draws a frame.
func TestSweepFrame(t *testing.T) {
	var mu sync.Mutex
	opened := map[string]bool{}
	t.Run("worlds", func(t *testing.T) {
		for name, st := range worlds.All() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := &sweep{t: t, name: name, m: sweepModel(t, st, [2]int{80, 24}), opened: map[string]bool{}}
				s.all(!testing.Short() || name == "one")
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(opened, s.opened)
			})
		}
	})
	for i := range actions {
		id := actions[i].id
		if why, ok := formless[id]; !opened[id] && !ok {
			t.Errorf("no world opens the form of %s", id)
		} else if opened[id] && ok {
			t.Errorf("%s is said to open nothing (%s), and does", id, why)
		}
	}
}

func sweepModel(t *testing.T, st *fleet.State, size [2]int) *Model {
	m := New(t.Context(), Options{Owner: &uitest.FakeOwner{}, Buyer: &uitest.FakeBuyer{}, Editor: []string{"vi"}, CarriesOwner: true, CanBackground: true})
	m.state, m.clock.now = st, worlds.Now
	m.onSize(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	return m
}

// sweep draws all that one model can show.
type sweep struct {
	t      *testing.T
	name   string
	m      *Model
	opened map[string]bool            // by the id of the action
	rows   []screen.Target            // of all screens, and the one that is none
	check  func(what, content string) // of every frame beside its size; nil: none
}

// draw checks the frame at every size, at 80×24 last.
func (s *sweep) draw(what string) {
	s.t.Helper()
	for _, size := range frameSizes {
		s.m.onSize(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		s.m.settle()
		content, cursor := s.m.frame()
		worlds.Exact(s.t, s.name+": "+what, content, s.m.size.w, s.m.size.h)
		if s.check != nil {
			s.check(what, content)
		}
		if cursor != nil && (cursor.X < 0 || cursor.Y < 0 || cursor.X >= s.m.size.w || cursor.Y >= s.m.size.h) {
			s.t.Errorf("%s: %s %dx%d: the cursor is at %d,%d", s.name, what, s.m.size.w, s.m.size.h, cursor.X, cursor.Y)
		}
	}
}

// all draws the screens, and with forms also what lies over them.
func (s *sweep) all(forms bool) {
	for i := range s.m.rooms.all {
		s.m.rooms.at, s.m.rooms.sheets = i, nil
		s.draw(s.m.room().Name())
		s.m.room().SetFilter("nothing:fits " + worlds.Hostile)
		s.draw(s.m.room().Name() + " without a row")
		s.m.room().SetFilter("")
		s.rows = append(s.rows, s.m.room().Shown(s.m.bodyCtx())...)
	}
	if !forms {
		return
	}
	s.rows = append(s.rows, screen.Target{})
	s.m.rooms.at = 0
	for i := range s.m.actions {
		s.form(&s.m.actions[i])
	}
	s.sheets()
	s.lines()
	s.toasts()
}

// form opens what an action opens on the first row that allows it.
func (s *sweep) form(a *action) {
	if formless[a.id] != "" {
		return
	}
	for _, t := range s.rows {
		if ok, _ := s.m.enabled(a, s.m.subjectOf(t)); !ok {
			continue
		}
		s.m.run(a, t)
		s.m.toasts, s.m.end = toasts{}, ending{}
		s.m.layout()
		if s.m.screenHasKeys() && s.m.topSheet() == nil && s.m.room().ID() == screen.Queue {
			continue // this row has nothing to open
		}
		s.opened[a.id] = true
		if o := s.m.top(); o != nil {
			s.fields(a, o)
		} else {
			s.draw(a.id)
		}
		s.m.dialogs, s.m.rooms.sheets, s.m.rooms.at, s.m.input.mode = nil, nil, 0, inputNone
		return
	}
}

// fields goes through a form: as it opens, with each field focused and filled,
// with a refusal, and asking whether to leave.
func (s *sweep) fields(a *action, o *open) {
	s.draw(a.id + " as it opens")
	for range len(o.d.Fields) + 1 {
		if f := o.d.Focused(); f != nil {
			s.draw(a.id + " at " + f.Name)
			s.m.onPaste(tea.PasteMsg{Content: strings.Repeat("你好 text ", 40) + worlds.Hostile})
			s.m.input.quiet = false
			s.draw(a.id + " with " + f.Name + " filled")
		}
		s.m.onKey(uitest.Key("tab"))
	}
	o.d.Refuse("refused: " + clean(strings.Repeat(worlds.Hostile+" why ", 20)))
	s.draw(a.id + " refused")
	s.m.onKey(uitest.Key("esc"))
	s.draw(a.id + " about to be left")
}

// sheets opens the sheet of every row, while loading and with a problem.
func (s *sweep) sheets() {
	seen := map[string]bool{}
	for _, t := range s.rows {
		if t.WorkItemID == "" || seen[t.WorkItemID] || len(seen) == 6 {
			continue
		}
		seen[t.WorkItemID] = true
		s.m.openSheet(t)
		s.draw("a sheet that loads")
		s.m.onDetail(detailLoaded{s.m.rooms.loadID, nil, errors.New(worlds.Hostile)})
		s.draw("a sheet that cannot be read")
		s.m.rooms.sheets = nil
	}
}

// lines draws what the frame itself asks: filter, palette, help, prompt.
func (s *sweep) lines() {
	for name, begin := range map[string]func(){
		"filter":  func() { s.m.editFilter(nil) },
		"palette": func() { s.m.openPalette(nil) },
		"help":    func() { s.m.openHelp(nil) },
		"prompt":  func() { s.m.openPrompt(screen.Prompt{For: "x", Title: worlds.Hostile, Text: worlds.Hostile}) },
	} {
		begin()
		s.draw(name)
		for _, text := range []string{"work", "你好世界", worlds.Hostile, strings.Repeat("long ", 200)} {
			s.m.onPaste(tea.PasteMsg{Content: text})
			s.m.input.quiet = false
			s.draw(fmt.Sprintf("%s with %.20q", name, text))
		}
		for range 3 {
			s.m.onKey(uitest.Key("pgdown"))
			s.draw(name + " further down")
		}
		s.m.input.mode = inputNone
		s.m.room().SetFilter("")
	}
}

// toasts draws errors of every length above the key row.
func (s *sweep) toasts() {
	for _, text := range []string{"short", strings.Repeat("a refusal that explains itself ", 30), worlds.Hostile} {
		s.m.toast(screen.Bad, s.m.explain(screen.Target{}, acop.Errorf(acop.CodeItemNotFound, "%s", text)))
		s.m.layout()
		s.draw("an error")
	}
}
