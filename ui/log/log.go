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
	list pane.Stream
	rows rows
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
	edits  int    // how many lines had been changed in their places
	places uint64 // of the state, when a filter looked
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
func (s *Screen) Filter() string { return s.list.Filter() }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) { s.list.SetFilter(line) }

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	return append(s.list.Bindings(),
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
func (s *Screen) all() bool { return s.list.Query().Empty() && !s.brief }

// end is the number behind the last line.
func end(c *screen.Ctx) int { return c.State.LogBase + len(c.State.Log) }

// choose brings the filtered lines up to date.
func (s *Screen) choose(c *screen.Ctx) {
	if s.all() {
		s.rows = rows{}
		return
	}
	second, places := int64(0), uint64(0)
	if s.Filter() != "" {
		places = c.State.PlacesVersion // a line has repository and branch from its item
	}
	if s.list.Query().Timed() {
		second = c.Now.Unix()
	}
	r := &s.rows
	if r.filter != s.Filter() || r.brief != s.brief || r.second != second || r.edits != c.State.LogEdits || r.places != places ||
		r.next > end(c) || r.next < c.State.LogBase {
		*r = rows{brief: s.brief, filter: s.Filter(), second: second, edits: c.State.LogEdits, places: places, next: c.State.LogBase}
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
	return s.list.Query().Match(&r, c.Now)
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

func (s *Screen) sync(c *screen.Ctx) pane.Rows {
	s.choose(c)
	r := pane.Rows{N: s.count(c), End: end(c), Key: s.key(c), Find: s.find(c), Num: func(i int) int { return s.num(c, i) }}
	s.list.Fit(c, r)
	return r
}

// Selectable implements screen.Selector: while it follows, nothing is selected.
func (s *Screen) Selectable(c *screen.Ctx) bool { return s.sync(c).N > 0 }

// Hidden implements screen.Scroller.
func (s *Screen) Hidden(c *screen.Ctx) (above, below int) { return s.list.Hidden(s.sync(c).N) }

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
	if s.sync(c).N == 0 || s.list.Following() {
		return screen.Target{}
	}
	return s.target(c, s.list.Pos())
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	var out []screen.Target
	for i := range s.sync(c).N {
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
	r := s.sync(c)
	for i := r.N - 1; i >= 0; i-- {
		if got := s.target(c, i); t.Kind == screen.KindEvent && got.ID == t.ID || t.Kind != screen.KindEvent &&
			(t.WorkItemID != "" && got.WorkItemID == t.WorkItemID || t.TaskID != "" && got.TaskID == t.TaskID) {
			s.list.Pick(i, r)
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
	r := s.sync(c)
	do := ""
	if key, ok := msg.(tea.KeyPressMsg); ok {
		do = screen.Match(s.Bindings(), key.String())
	}
	switch do {
	case doRoutine:
		s.brief = !s.brief
	case doNDJSON, doMarkdown:
		return s.export(c, r.N, do == doMarkdown)
	default:
		s.list.Handle(c, r, do, msg)
	}
	return nil
}
