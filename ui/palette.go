package ui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/sahilm/fuzzy"

	"signalbox/model/text"
	"signalbox/ui/screen"
)

// paletteLimit bounds what one search of the palette returns.
const paletteLimit = 200

// command is one line of the palette. All texts are clean.
type command struct {
	kind string // action, screen, item, agent, task
	name string
	note string
	key  string
	why  string // why it cannot run now; "" = it can
	all  string // name and note, what is searched
	run  func(*Model) tea.Cmd
}

type commands []command

// String and Len let scattered letters be looked for in names. In descriptions they
// would be found everywhere.
func (c commands) String(i int) string { return c[i].name }
func (c commands) Len() int            { return len(c) }

func (m *Model) openPalette([]subject) tea.Cmd {
	m.input.mode = inputPalette
	m.input.ed.Set("")
	m.input.all = m.commands()
	m.search()
	return nil
}

// search fills the palette for what was typed.
func (m *Model) search() {
	all := m.input.all
	needle := strings.TrimSpace(m.input.ed.Value())
	m.input.pick = 0
	if needle == "" {
		m.input.found = all[:min(len(all), paletteLimit)]
		m.input.pick = firstPick(m.input.found, "")
		return
	}
	// An action beats an item with a similar name, however many such items there are:
	// all hits are ranked before the list is cut.
	low := strings.ToLower(needle)
	var ranked [ranks]commands
	words := strings.Fields(low)
	for i := range all {
		if r := rank(&all[i], low, words); r < scattered && len(ranked[r]) < paletteLimit {
			ranked[r] = append(ranked[r], all[i])
		}
	}
	for _, hit := range fuzzy.FindFrom(needle, all) { // the best first
		if r := rank(&all[hit.Index], low, words); r == scattered && len(ranked[r]) < paletteLimit {
			ranked[r] = append(ranked[r], all[hit.Index])
		}
	}
	found := slices.Concat(ranked[:]...)
	found = found[:min(len(found), paletteLimit)]
	m.input.found = found
	m.input.pick = firstPick(found, low)
}

// beginsWord reports whether a word of s begins with needle.
func beginsWord(s, needle string) bool {
	return strings.HasPrefix(s, needle) || strings.Contains(s, " "+needle)
}

// firstPick passes by actions that cannot act now when the name of one that can has a
// word that begins with what was typed: enter should do something, but never what was
// not named. "gr" that cannot grant must not freeze because its note speaks of grants.
func firstPick(found commands, needle string) int {
	if len(found) == 0 || found[0].why == "" {
		return 0
	}
	for i, c := range found {
		if c.why == "" && (c.kind == "action" || c.kind == "screen") && beginsWord(strings.ToLower(c.name), needle) {
			return i
		}
	}
	return 0
}

// scattered is the rank of what fits by letters of its name that do not stand
// together, and ranks how many answers rank has.
const (
	scattered = 4
	ranks     = scattered + 1
)

// rank groups what fits low, which is in lower case and consists of words; 0 comes
// first. Whether letters stand scattered in a name is left to the caller.
func rank(c *command, low string, words []string) int {
	name := strings.ToLower(c.name)
	switch {
	case (c.kind == "action" || c.kind == "screen") && strings.HasPrefix(name, low):
		return 0
	case strings.HasPrefix(name, low):
		return 1
	case strings.Contains(name, low):
		return 2
	}
	all := strings.ToLower(c.all)
	for _, w := range words {
		if !strings.Contains(all, w) {
			return scattered
		}
	}
	return 3
}

// commands are everything the palette can find.
func (m *Model) commands() commands {
	t := m.target()
	s := m.subjectOf(t)
	var out commands
	for i := range m.actions {
		a := &m.actions[i]
		kind := "action"
		if strings.HasPrefix(a.id, "go-") {
			kind = "screen"
		}
		ok, why := m.enabled(a, s)
		if ok {
			why = ""
		}
		out = append(out, command{kind: kind, name: a.help, note: a.long, key: a.keys[0], why: why,
			run: func(m *Model) tea.Cmd { return m.run(a, t) }})
	}
	out = append(out, m.objectCommands()...)
	for i := range out {
		out[i].all = out[i].name + " " + out[i].note
	}
	return out
}

func (m *Model) objectCommands() commands {
	var out commands
	for _, id := range m.state.TaskOrder {
		t := m.state.Tasks[id]
		if t == nil {
			continue
		}
		out = append(out, command{kind: "task", name: text.ID(id), note: clean(t.Params.Capability) + " " + string(t.State),
			run: func(m *Model) tea.Cmd { return m.openSheet(screen.Task(id)) }})
	}
	for _, a := range m.state.Agents(m.clock.now) {
		uid := a.UID
		out = append(out, command{kind: "agent", name: clean(uid), note: "worker",
			run: func(m *Model) tea.Cmd {
				return m.carryOut(screen.SwitchTo{Screen: screen.Agents, Target: screen.Target{Kind: screen.KindAgent, ID: uid}})
			}})
	}
	ids := make([]string, 0, len(m.state.Items))
	for id := range m.state.Items {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		it := m.state.Items[id]
		note := clean(string(it.Status()))
		if h := it.Holder(); h != "" {
			note += " by " + clean(h)
		}
		out = append(out, command{kind: "item", name: text.ID(id), note: note + " " + headline(it),
			run: func(m *Model) tea.Cmd { return m.openSheet(screen.Item(id, it.Revision)) }})
	}
	return out
}

func (m *Model) onPaletteKey(k tea.KeyPressMsg) tea.Cmd {
	n := len(m.input.found)
	switch k.String() {
	case "esc":
		m.input.mode, m.input.all = inputNone, nil
	case "up", "ctrl+p":
		m.input.pick = max(0, m.input.pick-1)
	case "down", "ctrl+n":
		m.input.pick = min(max(0, n-1), m.input.pick+1)
	case "pgup":
		m.input.pick = max(0, m.input.pick-8)
	case "pgdown":
		m.input.pick = min(max(0, n-1), m.input.pick+8)
	case "enter":
		m.input.mode = inputNone
		if m.input.pick < n {
			return m.input.found[m.input.pick].run(m)
		}
	default:
		before := m.input.ed.Value()
		m.input.ed.Key(k)
		if m.input.ed.Value() != before {
			m.search()
		}
	}
	return nil
}
