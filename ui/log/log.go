package log

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"signalbox/ui/filter"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// The screen's own words.
const (
	doNDJSON   = "export-ndjson"
	doMarkdown = "export-markdown"
	doRoutine  = "routine"
)

// Screen is the log. It implements screen.Screen.
type Screen struct {
	text  string
	query filter.Query
	tail  pane.Tail
	rows  rows
	// brief hides renewals and heartbeats, which drown everything else when
	// many agents are at work. It is how a log begins.
	brief bool
}

// rows are the lines that pass the filter by their number since the start; all
// of them while the filter is empty. Lines up to next were looked at.
type rows struct {
	brief  bool
	filter string
	second int64
	nums   []int
	next   int
}

// New makes the log.
func New() *Screen { return &Screen{brief: true} }

// ID implements screen.Screen.
func (s *Screen) ID() screen.ID { return screen.Log }

// Name implements screen.Screen.
func (s *Screen) Name() string { return "Log" }

// Badge implements screen.Screen: a log is not counted.
func (s *Screen) Badge(*screen.Ctx) string { return "" }

// Filter implements screen.Screen.
func (s *Screen) Filter() string { return s.text }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) { s.text, s.query = line, filter.Parse(line) }

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	return append(screen.Nav(),
		screen.Binding{Keys: []string{"G"}, Do: screen.Bottom, Help: "follow", Row: true},
		screen.Binding{Keys: []string{"v"}, Do: doRoutine, Help: s.routineHelp(), Row: true},
		screen.Binding{Keys: []string{"E"}, Do: doNDJSON, Help: "export NDJSON", Row: true},
		screen.Binding{Keys: []string{"M"}, Do: doMarkdown, Help: "export Markdown", Row: true})
}

func (s *Screen) routineHelp() string {
	if s.brief {
		return "show heartbeats"
	}
	return "hide heartbeats"
}

// all reports whether every line is shown.
func (s *Screen) all() bool { return s.query.Empty() && !s.brief }

// end is the number behind the last line.
func end(c *screen.Ctx) int { return c.State.LogBase + len(c.State.Log) }

// choose brings the filtered lines up to date.
func (s *Screen) choose(c *screen.Ctx) {
	if s.all() {
		s.rows = rows{}
		return
	}
	second := int64(0)
	if s.query.Timed() {
		second = c.Now.Unix()
	}
	r := &s.rows
	if r.filter != s.text || r.brief != s.brief || r.second != second || r.next > end(c) || r.next < c.State.LogBase {
		*r = rows{brief: s.brief, filter: s.text, second: second, next: c.State.LogBase}
	}
	for ; r.next < end(c); r.next++ {
		if s.passes(c, r.next) {
			r.nums = append(r.nums, r.next)
		}
	}
	gone := 0
	for gone < len(r.nums) && r.nums[gone] < c.State.LogBase {
		gone++
	}
	r.nums = r.nums[gone:]
}

func (s *Screen) passes(c *screen.Ctx, num int) bool {
	l := lineOf(&c.State.Log[num-c.State.LogBase], c.State.Identity)
	if s.brief && l.routine() {
		return false
	}
	r := filter.Row{
		Text:  [4]string{l.Reason, l.Code, l.Task, l.Claim},
		Agent: l.Actor, Kind: l.Verb, Item: l.Item, Status: l.Outcome + " " + l.From + " " + l.To, Since: l.At,
	}
	if it := c.State.Items[l.Item]; it != nil {
		r.Repo, r.Branch = it.WorkItem.TargetRepoID, it.WorkItem.TargetBranch
	}
	return s.query.Match(&r, c.Now)
}

func (s *Screen) count(c *screen.Ctx) int {
	if s.all() {
		return len(c.State.Log)
	}
	return len(s.rows.nums)
}

// num is the number of the line in row i.
func (s *Screen) num(c *screen.Ctx, i int) int {
	if s.all() {
		return c.State.LogBase + i
	}
	return s.rows.nums[i]
}

func (s *Screen) at(c *screen.Ctx, i int) line {
	return lineOf(&c.State.Log[s.num(c, i)-c.State.LogBase], c.State.Identity)
}

func (s *Screen) key(c *screen.Ctx) func(int) string {
	return func(i int) string { return strconv.Itoa(s.num(c, i)) }
}

func (s *Screen) find(c *screen.Ctx) func(string) int {
	return func(key string) int {
		n, err := strconv.Atoi(key)
		if err != nil {
			return -1
		}
		if s.all() {
			if i := n - c.State.LogBase; i >= 0 && i < len(c.State.Log) {
				return i
			}
			return -1
		}
		for i, num := range s.rows.nums {
			if num == n {
				return i
			}
		}
		return -1
	}
}

func (s *Screen) sync(c *screen.Ctx) int {
	s.choose(c)
	n := s.count(c)
	s.tail.Sync(n, end(c), max(0, pane.Divide(c.W, c.H).ListH-1), s.key(c), s.find(c))
	return n
}

func (s *Screen) target(c *screen.Ctx, i int) screen.Target {
	l := s.at(c, i)
	t := screen.Target{Kind: screen.KindEvent, ID: strconv.Itoa(s.num(c, i)), WorkItemID: l.Item, ClaimID: l.Claim, TaskID: l.Task, Worker: l.Actor}
	if it := c.State.Items[l.Item]; it != nil {
		t.Revision = it.Revision
	}
	return t
}

// Target implements screen.Screen.
func (s *Screen) Target(c *screen.Ctx) screen.Target {
	if s.sync(c) == 0 || s.tail.Following() {
		return screen.Target{}
	}
	return s.target(c, s.tail.Pos())
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	var out []screen.Target
	for i := range s.sync(c) {
		out = append(out, s.target(c, i))
	}
	return out
}

// Select implements screen.Screen: a line, or the latest one about an item or a
// task.
func (s *Screen) Select(c *screen.Ctx, t screen.Target) bool {
	if !s.all() {
		s.SetFilter("")
		s.brief = false
	}
	n := s.sync(c)
	for i := n - 1; i >= 0; i-- {
		if got := s.target(c, i); t.Kind == screen.KindEvent && got.ID == t.ID || t.Kind != screen.KindEvent &&
			(t.WorkItemID != "" && got.WorkItemID == t.WorkItemID || t.TaskID != "" && got.TaskID == t.TaskID) {
			s.tail.Leave()
			s.tail.To(i, n, s.key(c))
			return true
		}
	}
	return false
}

// Update implements screen.Screen.
func (s *Screen) Update(c *screen.Ctx, msg tea.Msg) screen.Intent {
	if _, ok := msg.(screen.Applied); ok {
		return nil // nothing is kept that facts could make wrong
	}
	n := s.sync(c)
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		switch do := screen.Match(s.Bindings(), msg.String()); do {
		case doRoutine:
			s.brief = !s.brief
		case doNDJSON, doMarkdown:
			return s.export(c, n, do == doMarkdown)
		default:
			s.tail.Nav(do, n, s.key(c))
		}
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			s.tail.Nav(screen.Up, n, s.key(c))
		case tea.MouseWheelDown:
			s.tail.Nav(screen.Down, n, s.key(c))
		}
	case tea.MouseClickMsg:
		d := pane.Divide(c.W, c.H)
		if i := s.tail.Top() + msg.Y - 1; msg.Y >= 1 && msg.Y < d.ListH && msg.X < d.ListW && i < n {
			s.tail.Leave()
			s.tail.To(i, n, s.key(c))
		}
	}
	return nil
}
