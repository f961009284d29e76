package queue

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/filter"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// part is a part of the screen that can have the keys.
type part int

const (
	partAsks part = iota
	partTasks
)

// Screen is the queue.
type Screen struct {
	asks    kit.Cursor
	tasks   kit.Cursor
	part    part
	line    string
	query   filter.Query
	snoozed bool // show what was put aside
	scroll  int  // of the context
	about   string
	// narrowed is set when the filter has changed: a row that it hides leaves the cursor
	// at the worst of what is shown, not somewhere in it.
	narrowed bool
}

// New makes the queue.
func New() *Screen { return &Screen{} }

// ID implements screen.Screen.
func (s *Screen) ID() screen.ID { return screen.Queue }

// Name implements screen.Screen.
func (s *Screen) Name() string { return "Queue" }

// Badge counts the asks that are not put aside.
func (s *Screen) Badge(c *screen.Ctx) string {
	if c.State == nil {
		return ""
	}
	n := 0
	for _, a := range c.State.Asks(c.Now) {
		if _, ok := c.Snoozed[a.Key]; !ok {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Filter implements screen.Screen.
func (s *Screen) Filter() string { return s.line }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) {
	s.narrowed = s.narrowed || line != s.line
	s.line, s.query = line, filter.Parse(line)
}

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	help := "show snoozed"
	if s.snoozed {
		help = "hide snoozed"
	}
	return append(screen.Nav(),
		screen.Binding{Keys: []string{"tab"}, Do: screen.NextPane, Help: "asks or live tasks"},
		screen.Binding{Keys: []string{"z"}, Do: "snoozed", Help: help},
		screen.Binding{Keys: []string{"}"}, Do: "next-run", Help: "next kind or severity"},
		screen.Binding{Keys: []string{"{"}, Do: "previous-run", Help: "previous kind or severity"},
		screen.Binding{Keys: []string{"J", "shift+down"}, Do: "context-down", Help: "context down"},
		screen.Binding{Keys: []string{"K", "shift+up"}, Do: "context-up", Help: "context up"},
	)
}

// shownAsks are the asks that pass filter and snooze, in rank order.
func (s *Screen) shownAsks(c *screen.Ctx) []fleet.Ask {
	all := c.State.Asks(c.Now)
	if s.query.Empty() && len(c.Snoozed) == 0 && !s.snoozed {
		return all
	}
	out := make([]fleet.Ask, 0, len(all))
	for i := range all {
		if _, put := c.Snoozed[all[i].Key]; put != s.snoozed {
			continue
		}
		if s.query.Empty() || s.query.Match(rowOf(c, &all[i]), c.Now) {
			out = append(out, all[i])
		}
	}
	return out
}

// rowOf is what the filter sees of an ask.
func rowOf(c *screen.Ctx, a *fleet.Ask) *filter.Row {
	r := &filter.Row{
		Text: [4]string{a.Title, a.Detail, a.Key, a.TaskID}, Kind: string(a.Kind), Severity: a.Severity.String(), Agent: a.Who,
		Item: strings.TrimRight(a.WorkItemID+" "+a.With, " "), Provider: a.Provider, Since: a.Since,
	}
	if it := c.State.Items[a.WorkItemID]; it != nil {
		r.Status, r.Priority = string(it.Status()), string(it.WorkItem.Priority)
		r.Repo, r.Branch, r.Blockers = it.WorkItem.TargetRepoID, it.WorkItem.TargetBranch, it.Blockers
	}
	return r
}

// liveTasks are the tasks that have not ended, oldest first.
func liveTasks(st *fleet.State) []*fleet.Task {
	var out []*fleet.Task
	for _, id := range st.TaskOrder {
		if t := st.Tasks[id]; t != nil && !t.State.Final() {
			out = append(out, t)
		}
	}
	return out
}

// Update implements screen.Screen.
func (s *Screen) Update(c *screen.Ctx, msg tea.Msg) screen.Intent {
	if c.State == nil {
		return nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return s.key(c, screen.Match(s.Bindings(), msg.String()))
	case tea.MouseClickMsg:
		s.click(c, msg.X, msg.Y)
	case tea.MouseWheelMsg:
		s.wheel(c, msg)
	}
	return nil
}

func (s *Screen) key(c *screen.Ctx, do string) screen.Intent {
	asks, tasks := s.sync(c)
	switch do {
	case screen.NextPane:
		s.part = 1 - s.part
		if len(tasks) == 0 {
			s.part = partAsks
		}
	case "snoozed":
		s.snoozed = !s.snoozed
	case "next-run", "previous-run":
		s.part = partAsks
		s.asks.To(runFrom(asks, s.asks.Pos(), do == "next-run"), len(asks), func(i int) string { return asks[i].Key })
	case "context-down":
		s.scrollContext(c, 1)
	case "context-up":
		s.scrollContext(c, -1)
	default:
		if s.part == partTasks {
			s.tasks.Nav(do, len(tasks), func(i int) string { return tasks[i].ID })
			break
		}
		s.asks.Nav(do, len(asks), func(i int) string { return asks[i].Key })
	}
	return nil
}

// sync fits the cursors to what there is now.
func (s *Screen) sync(c *screen.Ctx) ([]fleet.Ask, []*fleet.Task) {
	asks, tasks := s.shownAsks(c), liveTasks(c.State)
	if len(tasks) == 0 {
		s.part = partAsks
	}
	r := arrange(c.W, c.H, len(asks), len(tasks))
	hidden := s.narrowed && !slices.ContainsFunc(asks, func(a fleet.Ask) bool { return a.Key == s.asks.Key() })
	s.narrowed = false
	if (c.Fresh || hidden) && len(asks) > 0 {
		// Nobody has chosen one of these rows: start where the rule says it is worst.
		s.asks.To(0, len(asks), func(i int) string { return asks[i].Key })
	}
	s.asks.Sync(len(asks), r.asks.h-1, func(i int) string { return asks[i].Key }, nil)
	s.tasks.Sync(len(tasks), r.tasks.h-1, func(i int) string { return tasks[i].ID }, nil)
	return asks, tasks
}

func (s *Screen) click(c *screen.Ctx, x, y int) {
	asks, tasks := s.sync(c)
	r := arrange(c.W, c.H, len(asks), len(tasks))
	switch {
	case r.asks.has(x, y) && y > r.asks.y:
		s.part = partAsks
		if i := s.asks.Top() + y - r.asks.y - 1; i < len(asks) {
			s.asks.To(i, len(asks), func(i int) string { return asks[i].Key })
		}
	case r.tasks.has(x, y) && y > r.tasks.y:
		s.part = partTasks
		if i := s.tasks.Top() + y - r.tasks.y - 1; i < len(tasks) {
			s.tasks.To(i, len(tasks), func(i int) string { return tasks[i].ID })
		}
	}
}

func (s *Screen) wheel(c *screen.Ctx, msg tea.MouseWheelMsg) {
	asks, tasks := s.sync(c)
	d := 1
	if msg.Button == tea.MouseWheelUp {
		d = -1
	}
	r := arrange(c.W, c.H, len(asks), len(tasks))
	switch {
	case r.context.has(msg.X, msg.Y):
		s.scrollContext(c, d)
	case r.tasks.has(msg.X, msg.Y):
		s.tasks.Move(d, len(tasks), func(i int) string { return tasks[i].ID })
	default:
		s.asks.Move(d, len(asks), func(i int) string { return asks[i].Key })
	}
}

// Target implements screen.Screen.
func (s *Screen) Target(c *screen.Ctx) screen.Target {
	if c.State == nil {
		return screen.Target{}
	}
	asks, tasks := s.sync(c)
	if s.part == partTasks {
		return screen.Task(tasks[s.tasks.Pos()].ID)
	}
	if len(asks) == 0 {
		return screen.Target{}
	}
	return targetOf(c.State, &asks[s.asks.Pos()])
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	if c.State == nil {
		return nil
	}
	asks, tasks := s.sync(c)
	var out []screen.Target
	if s.part == partTasks {
		for _, t := range tasks {
			out = append(out, screen.Task(t.ID))
		}
		return out
	}
	for i := range asks {
		out = append(out, targetOf(c.State, &asks[i]))
	}
	return out
}

// Select implements screen.Screen.
func (s *Screen) Select(c *screen.Ctx, t screen.Target) bool {
	if c.State == nil {
		return false
	}
	if t.Kind == screen.KindTask {
		s.part = partTasks
		s.tasks.SelectKey(t.TaskID)
		return true
	}
	for _, a := range s.shownAsks(c) {
		if a.Key == t.AskKey || t.AskKey == "" && t.WorkItemID != "" && a.WorkItemID == t.WorkItemID {
			s.part = partAsks
			s.asks.SelectKey(a.Key)
			return true
		}
	}
	return false
}

// targetOf is the target of an ask, with the revision that is on screen.
func targetOf(st *fleet.State, a *fleet.Ask) screen.Target {
	t := screen.Target{
		ID: a.Target.ID, WorkItemID: a.WorkItemID, ClaimID: a.ClaimID, TaskID: a.TaskID, Worker: a.Who, AskKey: a.Key,
	}
	switch a.Target.Kind {
	case fleet.TargetItem:
		t.Kind = screen.KindItem
	case fleet.TargetClaim:
		t.Kind = screen.KindClaim
	case fleet.TargetIntent:
		t.Kind = screen.KindIntent
	case fleet.TargetTask:
		t.Kind = screen.KindTask
	case fleet.TargetEntry:
		t.Kind = screen.KindEntry
	case fleet.TargetProvider:
		t.Kind = screen.KindProvider
	default:
		t.Kind = screen.KindEvent
	}
	if it := st.Items[a.WorkItemID]; it != nil {
		t.Revision = it.Revision
	}
	return t
}

// ratioOf is the share of three heartbeat intervals that passed in silence.
func ratioOf(t *fleet.Task, c *screen.Ctx) (float64, acmp.Life) {
	return acmp.Liveness(t.LastSign, c.Now, t.Interval)
}

// itemOf is the item an ask is about, or nil.
func itemOf(c *screen.Ctx, a *fleet.Ask) *acop.Item { return c.State.Items[a.WorkItemID] }
