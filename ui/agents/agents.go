package agents

import (
	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/filter"
	"signalbox/ui/kit"
	"signalbox/ui/pane"
	"signalbox/ui/screen"
)

// Screen is the agents screen. It implements screen.Screen.
type Screen struct {
	text  string
	query filter.Query
	order order
	cur   kit.Cursor
	cache cache
}

// cache keeps the rows for as long as nothing they are made of changed.
type cache struct {
	key     cacheKey
	workers workersKey
	agents  []fleet.Agent
	rows    []row
	all     int // rows without the filter
}

// cacheKey is what the rows are made of; workersKey what the workers are, which
// output of tasks does not change.
type cacheKey struct {
	version uint64
	filter  string
	order   order
	workersKey
}

type workersKey struct {
	items, entries uint64
	second         int64
	loaded         bool
}

// row is a claim of a worker, its request for one, a worker without either, or a
// provider; or, with a head, the title of a section.
type row struct {
	head     string
	agent    *fleet.Agent
	item     *acop.Item // held
	ask      *fleet.Ask // a request that waits for a lead
	provider *fleet.ProviderView
	// again marks a further row of the worker above, which is named once.
	again bool
}

// New makes the agents screen.
func New() *Screen { return &Screen{} }

// ID implements screen.Screen.
func (s *Screen) ID() screen.ID { return screen.Agents }

// Name implements screen.Screen.
func (s *Screen) Name() string { return "Agents" }

// Badge counts the held claims.
func (s *Screen) Badge(c *screen.Ctx) string {
	n := c.State.Count(acop.StatusClaimed) + c.State.Count(acop.StatusInProgress)
	if n == 0 {
		return ""
	}
	return kit.Count(n)
}

// Filter implements screen.Screen.
func (s *Screen) Filter() string { return s.text }

// SetFilter implements screen.Screen.
func (s *Screen) SetFilter(line string) { s.text, s.query = line, filter.Parse(line) }

// Bindings implements screen.Screen.
func (s *Screen) Bindings() []screen.Binding {
	return append(screen.Nav(),
		screen.Binding{Keys: []string{"o"}, Do: doOrder, Help: "order by " + (s.order + 1).String(), Row: true})
}

// rows lists what is shown, anew when facts changed and once a second.
func (s *Screen) rows(c *screen.Ctx) []row {
	wk := workersKey{items: c.State.ItemsVersion, entries: c.State.EntriesVersion, second: c.Now.Unix(), loaded: true}
	key := cacheKey{version: c.State.Version, filter: s.text, order: s.order, workersKey: wk}
	if key == s.cache.key {
		return s.cache.rows
	}
	s.cache.key, s.cache.all, s.cache.rows = key, 0, s.cache.rows[:0]
	if wk != s.cache.workers {
		s.cache.workers, s.cache.agents = wk, c.State.Agents(c.Now)
	}
	held := workers(s.cache.agents, requests(c))
	arrange(c, held, s.order)
	s.section(c, "WORKERS", held)
	views := c.State.ProviderViews()
	providers := make([]row, len(views))
	for i := range views {
		providers[i] = row{provider: &views[i]}
	}
	s.section(c, "PROVIDERS", providers)
	return s.cache.rows
}

// requests are the claim requests that wait for a lead, by worker.
func requests(c *screen.Ctx) map[string][]*fleet.Ask {
	out := map[string][]*fleet.Ask{}
	asks := c.State.Asks(c.Now)
	for i := range asks {
		if asks[i].Kind == fleet.AskGrant {
			out[asks[i].Who] = append(out[asks[i].Who], &asks[i])
		}
	}
	return out
}

// workers makes a row of every claim and every request, each of which can be
// acted on alone; a worker with neither has one row.
func workers(agents []fleet.Agent, asks map[string][]*fleet.Ask) []row {
	var out []row
	for i := range agents {
		a := &agents[i]
		for _, it := range a.Held {
			out = append(out, row{agent: a, item: it})
		}
		for _, ask := range asks[a.UID] {
			out = append(out, row{agent: a, ask: ask})
		}
		if len(a.Held)+len(asks[a.UID]) == 0 {
			out = append(out, row{agent: a})
		}
	}
	return out
}

// section adds rows that pass the filter under a title.
func (s *Screen) section(c *screen.Ctx, head string, rows []row) {
	s.cache.all += len(rows)
	at := len(s.cache.rows)
	s.cache.rows = append(s.cache.rows, row{head: head})
	names := 0
	for i := range rows {
		if !s.passes(c, &rows[i]) {
			continue
		}
		r := rows[i]
		r.again = r.agent != nil && r.agent == s.cache.rows[len(s.cache.rows)-1].agent
		if !r.again {
			names++
		}
		s.cache.rows = append(s.cache.rows, r)
	}
	if names == 0 {
		s.cache.rows = s.cache.rows[:at]
		return
	}
	s.cache.rows[at].head += " " + kit.Count(names)
}

func (s *Screen) passes(c *screen.Ctx, r *row) bool {
	if s.query.Empty() {
		return true
	}
	var f filter.Row
	switch {
	case r.provider != nil:
		p := &r.provider.Provider
		f = filter.Row{Text: [4]string{p.Endpoint, p.Problem, p.ProviderID}, Provider: p.Name, Kind: "provider", Status: reachWord(p), Since: p.Since}
	case r.item != nil:
		w := &r.item.WorkItem
		f = filter.Row{Text: [4]string{w.Title, r.item.Lease.Progress}, Agent: r.agent.UID, Item: w.WorkItemID, Repo: w.TargetRepoID, Branch: w.TargetBranch,
			Kind: string(w.WorkKind) + " worker", Status: string(w.Status) + " " + lifeWord(c, r), Priority: string(w.Priority), Since: r.item.Lease.Claim.GrantedAtUTC.Std()}
	case r.ask != nil:
		f = filter.Row{Text: [4]string{r.ask.Title}, Agent: r.agent.UID, Item: r.ask.WorkItemID, Kind: "worker", Status: "asks", Since: r.ask.Since}
	default:
		f = filter.Row{Agent: r.agent.UID, Kind: "worker", Status: "idle", Since: r.agent.LastProgress}
	}
	return s.query.Match(&f, c.OwnerNow())
}

func (r *row) key() string {
	switch {
	case r.head != "":
		return "\x00" + r.head
	case r.provider != nil:
		return "p " + r.provider.Provider.Name
	case r.item != nil:
		return "c " + r.item.Lease.Claim.ClaimID
	case r.ask != nil:
		return "i " + r.ask.Key
	}
	return "a " + r.agent.UID
}

func rowKey(rows []row) func(int) string { return func(i int) string { return rows[i].key() } }

// sync brings the cursor in line and returns the rows and the selected one.
func (s *Screen) sync(c *screen.Ctx) ([]row, *row) {
	rows := s.rows(c)
	s.cur.Sync(len(rows), max(0, pane.Divide(c.W, c.H).ListH-1), rowKey(rows), nil)
	s.skip(rows, 1)
	if len(rows) == 0 {
		return rows, nil
	}
	return rows, &rows[s.cur.Pos()]
}

// skip moves off a title in direction d, or back where there is nothing.
func (s *Screen) skip(rows []row, d int) {
	for _, d := range []int{d, -d} {
		for i := s.cur.Pos(); i >= 0 && i < len(rows); i += d {
			if rows[i].head == "" {
				s.cur.To(i, len(rows), rowKey(rows))
				return
			}
		}
	}
}

// Hidden implements screen.Scroller.
func (s *Screen) Hidden(c *screen.Ctx) (above, below int) {
	rows, _ := s.sync(c)
	return s.cur.Hidden(len(rows))
}

func (r *row) target() screen.Target {
	switch {
	case r.head != "":
		return screen.Target{}
	case r.provider != nil:
		return screen.Target{Kind: screen.KindProvider, ID: r.provider.Provider.Name}
	case r.item != nil:
		cl := &r.item.Lease.Claim
		return screen.Target{Kind: screen.KindClaim, ID: cl.ClaimID, ClaimID: cl.ClaimID, WorkItemID: r.item.ID(), Worker: r.agent.UID, Revision: r.item.Revision}
	}
	if r.ask != nil {
		return screen.Target{Kind: screen.KindIntent, ID: r.ask.IntentID, WorkItemID: r.ask.WorkItemID, Worker: r.agent.UID, AskKey: r.ask.Key, Revision: r.ask.Revision}
	}
	return screen.Target{Kind: screen.KindAgent, ID: r.agent.UID, Worker: r.agent.UID}
}

// Target implements screen.Screen.
func (s *Screen) Target(c *screen.Ctx) screen.Target {
	if _, r := s.sync(c); r != nil {
		return r.target()
	}
	return screen.Target{}
}

// Shown implements screen.Screen.
func (s *Screen) Shown(c *screen.Ctx) []screen.Target {
	var out []screen.Target
	rows, _ := s.sync(c)
	for i := range rows {
		if rows[i].head == "" {
			out = append(out, rows[i].target())
		}
	}
	return out
}

// Select implements screen.Screen: a worker, its claim, a held item or a
// provider.
func (s *Screen) Select(c *screen.Ctx, t screen.Target) bool {
	if s.text != "" {
		s.SetFilter("")
	}
	rows, _ := s.sync(c)
	for i := range rows {
		if rows[i].head == "" && matches(rows[i].target(), t) {
			s.cur.To(i, len(rows), rowKey(rows))
			return true
		}
	}
	return false
}

func matches(have, want screen.Target) bool {
	switch want.Kind {
	case screen.KindAgent:
		return have.Worker == want.ID && want.ID != ""
	case screen.KindItem:
		return have.WorkItemID == want.ID
	}
	return have.Key() == want.Key()
}

// Update implements screen.Screen.
func (s *Screen) Update(c *screen.Ctx, msg tea.Msg) screen.Intent {
	if _, ok := msg.(screen.Applied); ok {
		return nil // nothing is kept that facts could make wrong
	}
	rows, _ := s.sync(c)
	do := ""
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		do = screen.Match(s.Bindings(), msg.String())
	case tea.MouseWheelMsg:
		do = pane.WheelWord(msg)
	case tea.MouseClickMsg:
		d := pane.Divide(c.W, c.H)
		if i := s.cur.Top() + msg.Y - 1; msg.Y >= 1 && msg.Y < d.ListH && msg.X < d.ListW && i < len(rows) && rows[i].head == "" {
			s.cur.To(i, len(rows), rowKey(rows))
		}
	}
	if do == doOrder {
		s.order = (s.order + 1) % orders
		s.sync(c)
	}
	if s.cur.Nav(do, len(rows), rowKey(rows)) {
		d := 1
		if do == screen.Up || do == screen.PageUp || do == screen.Bottom {
			d = -1
		}
		s.skip(rows, d)
	}
	return nil
}
