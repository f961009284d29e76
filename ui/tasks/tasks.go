package tasks

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/filter"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// The screen's own words, beside those of packages screen and pane.
const (
	doWhole    = "whole"
	doCopy     = "copy-output"
	doInput    = "input"
	doInputEnd = "input-end"
	doScrollUp = "scroll-up"
	doScrollDn = "scroll-down"
	doStopFind = "find-stop"
)

// What a Prompt was for.
const (
	forFind  = "find"
	forInput = "input "
)

// Screen is the tasks screen. It implements screen.Screen.
type Screen struct {
	text  string
	query filter.Query

	cur    kit.Cursor
	output bool // the output pane has the keys
	panes  map[string]*pane.Pane
	whole  whole
	open   string // task that input was typed for
	going  bool   // a Continue is on its way
}

// whole is a transcript from disk that is shown instead of the tail in memory.
type whole struct {
	taskID  string // "" = none
	loading bool
	text    pane.Text
	skipped int64
	err     error
	pane    pane.Pane
}

// New makes the tasks screen.
func New() *Screen { return &Screen{panes: map[string]*pane.Pane{}} }

// ID implements screen.Screen.
func (s *Screen) ID() screen.ID { return screen.Tasks }

// Name implements screen.Screen.
func (s *Screen) Name() string { return "Tasks" }

// Badge counts the tasks that have not ended.
func (s *Screen) Badge(c *screen.Ctx) string {
	n := 0
	for _, id := range c.State.TaskOrder {
		if t := c.State.Tasks[id]; t != nil && !t.State.Final() {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n) + c.Styles.G.Folded
}

// Filter implements screen.Screen.
func (s *Screen) Filter() string { return s.text }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) { s.text, s.query = line, filter.Parse(line) }

// tasks lists what passes the filter: live ones first, newest first.
func (s *Screen) tasks(c *screen.Ctx) []*fleet.Task {
	order := c.State.TaskOrder
	out := make([]*fleet.Task, 0, len(order))
	for _, final := range []bool{false, true} {
		for i := len(order) - 1; i >= 0; i-- {
			t := c.State.Tasks[order[i]]
			if t != nil && t.State.Final() == final && s.passes(c, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

func (s *Screen) passes(c *screen.Ctx, t *fleet.Task) bool {
	if s.query.Empty() {
		return true
	}
	r := filter.Row{
		Text:   [4]string{t.Params.Capability, t.Detail, t.ProviderID},
		Status: string(t.State) + " " + pane.SituationOf(c.Styles, t, c.Now).Word,
		Kind:   t.Params.Capability, Item: t.ID, Provider: t.Provider, Since: t.SentAt,
	}
	if t.Earlier {
		r.Status += " earlier"
		r.Since = t.EndedAt
	}
	if t.Err != nil {
		r.Text[3] = t.Err.Error() + " " + t.Err.Detail()
	}
	return s.query.Match(&r, c.Now)
}

func taskKey(ts []*fleet.Task) func(int) string { return func(i int) string { return ts[i].ID } }

// selected brings cursor and bindings in line and returns the selected task, or
// nil.
func (s *Screen) selected(c *screen.Ctx, ts []*fleet.Task) *fleet.Task {
	s.cur.Sync(len(ts), s.layout(c, len(ts)).listRows, taskKey(ts), nil)
	if len(ts) == 0 {
		s.open = ""
		return nil
	}
	t := ts[s.cur.Pos()]
	s.noteInput(t)
	return t
}

// Target implements screen.Screen.
func (s *Screen) Target(c *screen.Ctx) screen.Target {
	if t := s.selected(c, s.tasks(c)); t != nil {
		return screen.Task(t.ID)
	}
	return screen.Target{}
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	var out []screen.Target
	for _, t := range s.tasks(c) {
		out = append(out, screen.Task(t.ID))
	}
	return out
}

// Select implements screen.Screen; it clears a filter that hides the task.
func (s *Screen) Select(c *screen.Ctx, t screen.Target) bool {
	task := c.State.Tasks[t.TaskID]
	if task == nil {
		return false
	}
	if !s.passes(c, task) {
		s.SetFilter("")
	}
	s.cur.SelectKey(task.ID)
	got := s.selected(c, s.tasks(c))
	return got != nil && got.ID == task.ID
}

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	bs := append(screen.Nav(),
		screen.Binding{Keys: []string{"tab"}, Do: screen.NextPane, Help: s.tabHelp(), Row: true},
		screen.Binding{Keys: []string{"shift+tab"}, Do: screen.PrevPane, Help: "other pane"},
		screen.Binding{Keys: []string{"shift+up", "ctrl+u"}, Do: doScrollUp, Help: "output up"},
		screen.Binding{Keys: []string{"shift+down", "ctrl+d"}, Do: doScrollDn, Help: "output down"},
		screen.Binding{Keys: []string{"left", "h"}, Do: screen.Left, Help: "output left", Shown: "h/left"},
		screen.Binding{Keys: []string{"right", "l"}, Do: screen.Right, Help: "output right", Shown: "l/right"},
		screen.Binding{Keys: []string{"G"}, Do: pane.Follow, Help: "follow output", Row: true},
		screen.Binding{Keys: []string{"f"}, Do: pane.Find, Help: "find in output", Row: true},
		screen.Binding{Keys: []string{"w"}, Do: pane.Wrap, Help: "wrap", Row: true},
		screen.Binding{Keys: []string{"t"}, Do: pane.Typed, Help: "raw or typed"},
		screen.Binding{Keys: []string{"z"}, Do: pane.Pause, Help: "pause output"},
		screen.Binding{Keys: []string{"o"}, Do: doWhole, Help: s.wholeHelp(), Row: true},
		screen.Binding{Keys: []string{"c"}, Do: doCopy, Help: "copy output"},
	)
	if s.searching() {
		bs = append(bs,
			screen.Binding{Keys: []string{"n"}, Do: pane.Next, Help: "next match", Over: true, Row: true},
			screen.Binding{Keys: []string{"N"}, Do: pane.Prev, Help: "match before", Over: true},
			screen.Binding{Keys: []string{"backspace"}, Do: doStopFind, Help: "end search"})
	}
	if s.open != "" {
		bs = append(bs,
			screen.Binding{Keys: []string{"I"}, Do: doInput, Help: "send input", First: true},
			screen.Binding{Keys: []string{"E"}, Do: doInputEnd, Help: "end input", First: true})
	}
	return bs
}

func (s *Screen) tabHelp() string {
	if s.output {
		return "to the list"
	}
	return "to the output"
}

func (s *Screen) wholeHelp() string {
	if s.whole.taskID != "" {
		return "live output"
	}
	return "whole output"
}

// Update implements screen.Screen.
func (s *Screen) Update(c *screen.Ctx, msg tea.Msg) screen.Intent {
	if _, ok := msg.(screen.Applied); ok {
		// The cursor is placed by the first view, not by the first fact.
		s.forget(c)
		return nil
	}
	ts := s.tasks(c)
	t := s.selected(c, ts)
	var out screen.Intent
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		out = s.do(c, ts, t, screen.Match(s.Bindings(), msg.String()))
	case tea.MouseWheelMsg:
		s.wheel(c, ts, t, msg)
	case tea.MouseClickMsg:
		s.click(c, ts, msg)
	case screen.Transcript:
		s.loaded(c, msg)
	case screen.Prompted:
		out = s.prompted(c, t, msg)
	case screen.Continue:
		s.going = false
		if t != nil {
			p, tx := s.source(c, t, len(ts))
			p.Seek(tx)
		}
	}
	s.selected(c, ts)
	return s.goOn(c, out)
}

// goOn asks to be called again while a search in the selected output is under way.
func (s *Screen) goOn(c *screen.Ctx, out screen.Intent) screen.Intent {
	ts := s.tasks(c)
	t := s.selected(c, ts)
	if s.going || t == nil {
		return out
	}
	if p, _ := s.source(c, t, len(ts)); !p.Seeking() {
		return out
	}
	s.going = true
	if out == nil {
		return screen.GoOn{}
	}
	return screen.Batch{out, screen.GoOn{}}
}

// noteInput remembers whether the selected task takes input, for the bindings
//
func (s *Screen) noteInput(t *fleet.Task) {
	s.open = ""
	if t != nil && takesInput(t) {
		s.open = t.ID
	}
}

// takesInput reports whether input may be sent to t while it runs.
func takesInput(t *fleet.Task) bool { return t.Params.InputStream && !t.State.Final() }

func (s *Screen) do(c *screen.Ctx, ts []*fleet.Task, t *fleet.Task, do string) screen.Intent {
	switch do {
	case "":
		return nil
	case screen.NextPane, screen.PrevPane:
		s.output = !s.output && t != nil
		return nil
	}
	if t == nil {
		return nil
	}
	if !s.output && s.cur.Nav(do, len(ts), taskKey(ts)) {
		s.leaveWhole(ts[s.cur.Pos()].ID)
		return nil
	}
	p, tx := s.source(c, t, len(ts))
	switch do {
	case doScrollUp:
		p.Scroll(tx, -max(1, s.layout(c, len(ts)).out.h/2))
	case doScrollDn:
		p.Scroll(tx, max(1, s.layout(c, len(ts)).out.h/2))
	case pane.Find:
		return screen.Prompt{For: forFind, Title: "Find in output", Text: p.Query()}
	case doStopFind:
		p.Search(tx, "")
	case doWhole:
		return s.toggleWhole(t)
	case doCopy:
		return copyOutput(tx)
	case doInput:
		return screen.Prompt{For: forInput + t.ID, Title: "Input for " + text.ID(text.Head(t.Params.Capability, 64))}
	case doInputEnd:
		return screen.SendInput{TaskID: t.ID, Chunk: textPayload(""), Final: true}
	default:
		p.Do(do, tx)
	}
	return nil
}

func textPayload(s string) acmp.Payload {
	data, err := json.Marshal(s)
	if err != nil { // a string always encodes
		data = []byte(`""`)
	}
	return acmp.Payload{Type: "text", Data: data}
}

func copyOutput(tx pane.Text) screen.Intent {
	if len(tx.Lines) == 0 {
		return screen.Toast{Text: "No output to copy yet", Level: screen.Info}
	}
	lines := slices.Clone(tx.Lines)
	return screen.Copy{What: "output", Make: func() string {
		var b strings.Builder
		for _, l := range lines {
			b.WriteString(text.OutputLine(l, false))
			b.WriteByte('\n')
		}
		return b.String()
	}}
}

func (s *Screen) prompted(c *screen.Ctx, t *fleet.Task, msg screen.Prompted) screen.Intent {
	id, isInput := strings.CutPrefix(msg.For, forInput)
	switch {
	case !msg.Ok:
	case msg.For == forFind && t != nil:
		p, tx := s.source(c, t, len(s.tasks(c)))
		p.Search(tx, msg.Text)
	case isInput:
		return screen.SendInput{TaskID: id, Chunk: textPayload(msg.Text + "\n")}
	}
	return nil
}

// forget drops the panes of tasks that are gone.
func (s *Screen) forget(c *screen.Ctx) {
	if len(s.panes) <= len(c.State.Tasks) {
		return
	}
	for id := range s.panes {
		if c.State.Tasks[id] == nil {
			delete(s.panes, id)
		}
	}
}
