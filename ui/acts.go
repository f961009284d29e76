package ui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/screen"
)

// actTimeout bounds every call to the owner or a provider.
const actTimeout = 15 * time.Second

// acts are the acts under way: asked for, and not yet confirmed by the owner's
// own event. There is at most one per target.
type acts struct {
	session string // makes idempotency keys unique to this program
	last    int
	flying  map[int]*flight
	byKey   map[string]int    // target key → flight
	words   map[string]string // target key → "requested: cancel"
	recent  string            // the key of the target of the act begun last
	running *action           // the action whose key was pressed, while it runs
	// leftOut are the targets that changed while the form about several stood open,
	// by key, and how; it holds while that form's answer is carried out.
	leftOut map[string]string
}

// flight is one act under way.
type flight struct {
	id     int
	verb   string // as a person says it: "cancel"
	name   string // the target, clean and short
	target screen.Target
	act    acop.Act
	taskID string
	// answered is the revision the owner gave; the act is shown as requested
	// until the log has reached it.
	answered uint64
	done     bool
	bulk     *bulk
	// item is what the act was decided on.
	item *acop.Item
	// stale is the owner's refusal of an act that a sign of life overtook; it is
	// asked once more when the state has caught up. again tells it was.
	stale error
	again bool
}

// title names an act in a sentence: its verb and its target, if it has one.
func (f *flight) title() string {
	if f.act.Verb == acop.VerbSettings {
		return f.verb
	}
	return f.verb + " " + f.name
}

// settingsDone tells what a change of the settings did.
func settingsDone(c *acop.SettingsChange) string {
	switch {
	case c == nil || c.Frozen == nil:
		return "the settings are changed"
	case *c.Frozen:
		return "all grants are frozen; running work goes on"
	}
	return "grants go on"
}

func newActs(session string) acts {
	return acts{
		session: session, flying: map[int]*flight{},
		byKey: map[string]int{}, words: map[string]string{},
	}
}

// keysOf are the keys under which rows may show the target of a flight: the row
// itself, and its item.
func keysOf(t screen.Target) []string {
	keys := []string{t.Key()}
	if t.WorkItemID != "" && t.Kind != screen.KindItem {
		keys = append(keys, screen.Item(t.WorkItemID, 0).Key())
	}
	return keys
}

// busy names the act that is under way on t, or "".
func (a *acts) busy(t screen.Target) string {
	for _, k := range keysOf(t) {
		if id, ok := a.byKey[k]; ok {
			return a.flying[id].verb
		}
	}
	return ""
}

func (a *acts) begin(f *flight) {
	a.recent = f.target.Key()
	a.last++
	f.id = a.last
	a.flying[f.id] = f
	for _, k := range keysOf(f.target) {
		a.byKey[k] = f.id
		a.words[k] = "requested: " + f.verb
	}
}

func (a *acts) end(f *flight) {
	delete(a.flying, f.id)
	for _, k := range keysOf(f.target) {
		if a.byKey[k] == f.id {
			delete(a.byKey, k)
			delete(a.words, k)
		}
	}
}

// do asks the owner for act on t. What it says is shown as requested until the
// owner's event arrives.
func (m *Model) do(verb string, t screen.Target, act acop.Act, b *bulk) tea.Cmd {
	if m.opts.Owner == nil {
		return m.toast(screen.Bad, "there is no owner to ask")
	}
	if w := m.acts.busy(t); w != "" {
		return m.refuse(verb, t, w+" is still waiting for the owner's answer; one act at a time", b)
	}
	f := &flight{verb: verb, name: targetName(t), target: t, act: act, bulk: b, item: m.state.Items[t.WorkItemID]}
	m.acts.begin(f)
	f.act.Key = m.acts.session + "-" + strconv.Itoa(f.id)
	m.apply(fleet.OwnAct{At: m.clock.now, ID: f.id, Act: f.act, Verb: string(act.Verb)})
	return m.askOwner(f.id, f.act)
}

func (m *Model) askOwner(id int, act acop.Act) tea.Cmd {
	owner, now, ctx := m.opts.Owner, m.opts.Now, m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		r, err := owner.Do(ctx, act)
		return actDone{id, r, err, now()}
	}
}

// doTask runs call against the buyer for a task; b is nil for one task alone.
func (m *Model) doTask(verb string, t screen.Target, b *bulk, call func(context.Context, Buyer) error) tea.Cmd {
	if m.opts.Buyer == nil {
		return m.toast(screen.Bad, "this program runs no tasks")
	}
	if w := m.acts.busy(t); w != "" {
		return m.refuse(verb, t, w+" is still under way; one act at a time", b)
	}
	f := &flight{verb: verb, name: targetName(t), target: t, taskID: t.TaskID, bulk: b}
	m.acts.begin(f)
	m.apply(fleet.OwnAct{At: m.clock.now, ID: f.id, TaskID: t.TaskID, Verb: verb})
	buyer, now, ctx, id := m.opts.Buyer, m.opts.Now, m.ctx, f.id
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		err := call(ctx, buyer)
		return taskActDone{id: id, taskID: t.TaskID, err: err, at: now()}
	}
}

// onActDone takes the owner's answer.
func (m *Model) onActDone(msg actDone) tea.Cmd {
	f := m.acts.flying[msg.id]
	if f == nil {
		return nil
	}
	if msg.at.After(m.clock.now) {
		m.clock.now = msg.at
	}
	m.apply(fleet.OwnAct{
		At: msg.at, ID: f.id, Act: f.act, Verb: string(f.act.Verb),
		Done: true, Err: msg.err, Receipt: msg.receipt,
	})
	if msg.err != nil {
		m.opts.Log.Warn("act refused", "id", f.id, "verb", f.verb, "error", msg.err)
		if m.overtaken(f, msg.err) {
			return tea.Batch(m.askAgain(f), tea.Tick(catchUp, func(time.Time) tea.Msg { return caughtUp{f.id} }))
		}
		m.acts.end(f)
		return m.refused(f, msg.err)
	}
	f.done = true
	if msg.receipt != nil {
		f.answered = msg.receipt.Revision
	}
	return tea.Batch(m.told(f, msg.receipt), m.confirm())
}

// confirm ends the acts whose own event the state has reached, and asks those
// once more that a sign of life overtook.
func (m *Model) confirm() tea.Cmd {
	var cmds []tea.Cmd
	for _, f := range m.acts.flying {
		switch {
		case f.stale != nil:
			cmds = append(cmds, m.askAgain(f))
		case f.done && f.taskID == "" && m.state.Revision >= f.answered:
			m.acts.end(f)
		}
	}
	return tea.Batch(cmds...)
}

// wentBack ends the acts that an older log cannot confirm any more: the owner has
// gone back to a state before its own answers, as after a restored backup.
func (m *Model) wentBack(from uint64) tea.Cmd {
	var cmds []tea.Cmd
	for _, f := range m.acts.flying {
		if f.taskID != "" || !f.done && f.stale == nil || f.answered > 0 && f.answered <= m.state.Revision {
			continue
		}
		m.acts.end(f)
		why := fmt.Sprintf("the owner's log went back from revision %d to %d and does not hold this", from, m.state.Revision)
		if now := m.presentState(f.target); now != "" {
			why += "; the item is " + now
		}
		cmds = append(cmds, m.toast(screen.Bad, f.title()+": "+why+". Look again."))
	}
	return tea.Batch(cmds...)
}

// told says what an act did, in the owner's words.
func (m *Model) told(f *flight, r *acop.Receipt) tea.Cmd {
	if f.bulk != nil {
		word := "done"
		switch {
		case r == nil:
		case succeeded(f, r):
			word = "goes on as " + shortID(r.Item.ID(), 40)
		case r.Status != "":
			word = "now " + clean(string(r.Status))
		}
		f.bulk.did(f.name, word)
		return m.tellBulk(f.bulk)
	}
	text := f.title() + ": done"
	if f.act.Verb == acop.VerbSettings {
		return m.toast(screen.Good, settingsDone(f.act.Settings))
	}
	if r == nil {
		return m.toast(screen.Good, text)
	}
	switch {
	case r.Replayed:
		text += ", as answered before (it may describe the past)"
	case succeeded(f, r):
		text += ", it goes on as " + shortID(r.Item.ID(), 40) + ", " + clean(string(r.Item.Status()))
	case r.Status != "":
		text += ", now " + clean(string(r.Status))
	case r.Item != nil:
		text += ", now " + clean(string(r.Item.Status()))
	}
	if n := len(r.Released); n > 0 {
		text += fmt.Sprintf("; %d became ready: %s", n, clean(shortList(r.Released, 3)))
	}
	return m.toast(screen.Good, text)
}

// succeeded tells whether the receipt is about a successor, which stands for the item
// that the act was on from then on.
func succeeded(f *flight, r *acop.Receipt) bool {
	return f.act.WorkItemID != "" && r.Item != nil && r.Item.ID() != f.act.WorkItemID
}

// refuse explains why an act was not even asked for.
func (m *Model) refuse(verb string, t screen.Target, why string, b *bulk) tea.Cmd {
	if b != nil {
		b.refused(targetName(t), why)
		return m.tellBulk(b)
	}
	return m.toast(screen.Warn, verb+" "+targetName(t)+": "+why)
}

// refused explains a refusal: code, plain words, what the object is now and what
// to do (H-095).
func (m *Model) refused(f *flight, err error) tea.Cmd {
	if f.bulk != nil {
		f.bulk.refused(f.name, shortRefusal(err))
		return m.tellBulk(f.bulk)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if errors.Is(err, acmp.ErrUnconfirmed) { // no refusal: it is on its way
		return m.toast(screen.Warn, f.title()+": "+acmp.ErrUnconfirmed.Error())
	}
	return m.toast(screen.Bad, f.title()+" refused: "+m.explain(f.target, err))
}

func (m *Model) onTaskActDone(msg taskActDone) tea.Cmd {
	f := m.acts.flying[msg.id]
	if f == nil {
		return nil
	}
	m.acts.end(f)
	m.apply(fleet.OwnAct{At: msg.at, ID: f.id, TaskID: msg.taskID, Verb: f.verb, Done: true, Err: msg.err})
	if msg.err != nil {
		m.opts.Log.Warn("task act failed", "id", f.id, "verb", f.verb, "error", msg.err)
		return m.refused(f, msg.err)
	}
	if f.verb == "invoke" {
		return m.startedTask(f, msg)
	}
	if f.bulk != nil {
		f.bulk.did(f.name, "asked for")
		return m.tellBulk(f.bulk)
	}
	if f.verb == verbInput || f.verb == verbInputEnd {
		return m.toast(screen.Good, f.verb+" sent to "+shortTask(msg.taskID))
	}
	return m.toast(screen.Info, f.verb+" "+shortTask(msg.taskID)+" asked for")
}
