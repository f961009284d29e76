package feed

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/ui/filter"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// doLink goes to the other end of a supersession.
const doLink = "link"

// Screen is the feed. It implements screen.Screen.
type Screen struct {
	list pane.Stream
	rows rows
}

// rows are the entries that pass the filter, as indexes into State.Entries; all
// of them while idx is nil.
type rows struct {
	key rowsKey
	idx []int
}

type rowsKey struct {
	version uint64
	places  uint64 // an entry has repository and branch from its item
	filter  string
	second  int64
}

// New makes the feed.
func New() *Screen { return &Screen{} }

// ID implements screen.Screen.
func (s *Screen) ID() screen.ID { return screen.Feed }

// Name implements screen.Screen.
func (s *Screen) Name() string { return "Feed" }

// Badge implements screen.Screen: entries are read, not counted.
func (s *Screen) Badge(*screen.Ctx) string { return "" }

// Filter implements screen.Screen.
func (s *Screen) Filter() string { return s.list.Filter() }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) { s.list.SetFilter(line) }

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	return append(s.list.Bindings(), screen.Binding{Keys: []string{"o"}, Do: doLink, Help: "other version", Row: !s.list.Following()})
}

// sync brings rows and cursor in line with the facts and the size.
func (s *Screen) sync(c *screen.Ctx) pane.Rows {
	s.choose(c)
	r := pane.Rows{N: s.count(c), End: int(c.State.Revision) + 1, Key: s.key(c), Find: s.find(c),
		Num: func(i int) int { return int(s.at(c, i).Revision) }}
	s.list.Fit(c, r)
	return r
}

// Selectable implements screen.Selector: while it follows, nothing is selected.
func (s *Screen) Selectable(c *screen.Ctx) bool { return s.sync(c).N > 0 }

// Hidden implements screen.Scroller.
func (s *Screen) Hidden(c *screen.Ctx) (above, below int) { return s.list.Hidden(s.sync(c).N) }

func (s *Screen) choose(c *screen.Ctx) {
	key := rowsKey{version: c.State.EntriesVersion, places: c.State.PlacesVersion, filter: s.Filter()}
	if s.list.Query().Timed() {
		key.second = c.OwnerNow().Unix()
	}
	if key == s.rows.key {
		return
	}
	s.rows.key = key
	if s.list.Query().Empty() {
		s.rows.idx = nil
		return
	}
	s.rows.idx = make([]int, 0, len(c.State.Entries))
	for i := range c.State.Entries {
		if s.passes(c, &c.State.Entries[i].Entry) {
			s.rows.idx = append(s.rows.idx, i)
		}
	}
}

func (s *Screen) passes(c *screen.Ctx, e *acop.BlackboardEntry) bool {
	r := filter.Row{
		Text: [4]string{e.Summary, e.Details, e.EntryID}, Kind: string(e.EntryKind),
		Item: e.WorkItemID, Agent: e.AuthorAgentUID, Status: string(e.Status), Since: e.CreatedAtUTC.Std(),
	}
	if c.State.SupersededBy(e.EntryID) != "" {
		r.Status = string(acop.EntrySuperseded)
	}
	if it := c.State.Items[e.WorkItemID]; it != nil {
		r.Repo, r.Branch = it.WorkItem.TargetRepoID, it.WorkItem.TargetBranch
	}
	return s.list.Query().Match(&r, c.OwnerNow())
}

func (s *Screen) count(c *screen.Ctx) int {
	if s.rows.idx == nil {
		return len(c.State.Entries)
	}
	return len(s.rows.idx)
}

func (s *Screen) at(c *screen.Ctx, i int) *acop.Posted {
	if s.rows.idx != nil {
		i = s.rows.idx[i]
	}
	return &c.State.Entries[i]
}

func (s *Screen) key(c *screen.Ctx) func(int) string {
	return func(i int) string { return s.at(c, i).Entry.EntryID }
}

func (s *Screen) find(c *screen.Ctx) func(string) int {
	return func(id string) int {
		for i := s.count(c) - 1; i >= 0; i-- {
			if s.at(c, i).Entry.EntryID == id {
				return i
			}
		}
		return -1
	}
}

// selected is the entry under the cursor, while following the newest; or nil.
func (s *Screen) selected(c *screen.Ctx) *acop.Posted {
	if s.sync(c).N == 0 {
		return nil
	}
	return s.at(c, s.list.Pos())
}

func target(c *screen.Ctx, e *acop.BlackboardEntry) screen.Target {
	t := screen.Target{Kind: screen.KindEntry, ID: e.EntryID, WorkItemID: e.WorkItemID, Worker: e.AuthorAgentUID}
	if it := c.State.Items[e.WorkItemID]; it != nil {
		t.Revision = it.Revision
	}
	return t
}

// Target implements screen.Screen.
func (s *Screen) Target(c *screen.Ctx) screen.Target {
	if p := s.selected(c); p != nil && !s.list.Following() {
		return target(c, &p.Entry)
	}
	return screen.Target{}
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	var out []screen.Target
	for i := range s.sync(c).N {
		out = append(out, target(c, &s.at(c, i).Entry))
	}
	return out
}

// Select implements screen.Screen: an entry, or the latest one about an item.
func (s *Screen) Select(c *screen.Ctx, t screen.Target) bool {
	id := t.ID
	if t.Kind != screen.KindEntry {
		posted := c.State.EntriesOf(t.WorkItemID)
		if len(posted) == 0 {
			return false
		}
		id = posted[len(posted)-1].Entry.EntryID
	}
	return s.goTo(c, id)
}

// goTo puts the cursor on an entry; it clears a filter that hides it.
func (s *Screen) goTo(c *screen.Ctx, id string) bool {
	p, ok := c.State.Entry(id)
	if !ok {
		return false
	}
	s.sync(c)
	if !s.passes(c, &p.Entry) {
		s.SetFilter("")
	}
	s.list.Leave()
	s.list.SelectKey(id)
	got := s.selected(c)
	return got != nil && got.Entry.EntryID == id
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
	if do == doLink {
		return s.link(c, s.selected(c))
	}
	s.list.Handle(c, r, do, msg)
	return nil
}

// link follows a supersession in either direction.
func (s *Screen) link(c *screen.Ctx, p *acop.Posted) screen.Intent {
	if p == nil {
		return nil
	}
	s.list.Leave()
	to := c.State.SupersededBy(p.Entry.EntryID)
	if to == "" && len(p.Entry.SupersedesEntryIDs) > 0 {
		to = p.Entry.SupersedesEntryIDs[0]
	}
	switch {
	case to == "":
		return screen.Toast{Text: "This entry neither supersedes another nor is superseded"}
	case !s.goTo(c, to):
		return screen.Toast{Text: "The other version is not among the entries known here", Level: screen.Warn}
	}
	return nil
}

// kindMark gives glyph and word of an entry kind.
func kindMark(k acop.EntryKind) (glyph, word string) {
	switch k {
	case acop.EntryFinding:
		return "*", "finding"
	case acop.EntryHypothesis:
		return "~", "hypothesis"
	case acop.EntryPartialResult:
		return "+", "partial"
	case acop.EntryRisk:
		return "!", "risk"
	case acop.EntryDecision:
		return "=", "decision"
	case acop.EntryConstraint:
		return "#", "constraint"
	case acop.EntryReviewRequest:
		return "?", "review wanted"
	case acop.EntryIntegrationNote:
		return "&", "integration"
	}
	return ".", pane.Clean(strings.ReplaceAll(string(k), "_", " "), 16)
}
