package ui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/ui/dialog"
	"signalbox/ui/screen"
)

// open is a dialog on the stack with what it decides on.
type open struct {
	d *dialog.Dialog
	// subjects are the targets as they were when the dialog opened: their items
	// are the immutable values that were on screen.
	subjects []subject
	// seen are the items as the person has seen them; an answer on anything
	// else is not taken.
	seen map[string]*acop.Item
	// attempts are how often each task had been sent.
	attempts map[string]int
	// answer carries out the button that was pressed. It returns a reason to
	// keep the dialog open, or "".
	answer func(value string) (tea.Cmd, string)
	// info tells again what the dialog is about, when the targets changed.
	info func([]subject) []dialog.Line
	// follow, if not nil, brings the fields in line with each other after a change.
	follow func()
	// act is the action that opened the dialog: it must still be possible when
	// the answer comes.
	act   *action
	quiet int // id of the pause in front of a dialog that opened by itself
}

// ask opens a dialog about ss.
func (m *Model) ask(d *dialog.Dialog, ss []subject, info func([]subject) []dialog.Line,
	answer func(string) (tea.Cmd, string)) tea.Cmd {
	o := &open{d: d, subjects: ss, answer: answer, info: info, act: m.acts.running,
		seen: map[string]*acop.Item{}, attempts: map[string]int{}}
	if info != nil {
		d.Info = info(ss)
	}
	for _, s := range ss {
		if s.item != nil {
			o.seen[s.item.ID()] = s.item
		}
		if s.task != nil {
			o.attempts[s.task.ID] = s.task.Attempt
		}
	}
	m.dialogs = append(m.dialogs, o)
	if d.Auto {
		return m.waitQuiet(o)
	}
	return nil
}

// top is the dialog that has the keys, or nil.
func (m *Model) top() *open {
	if len(m.dialogs) == 0 {
		return nil
	}
	return m.dialogs[len(m.dialogs)-1]
}

// changed says how the targets of o differ from what was seen, or "".
func (m *Model) changed(o *open) string {
	n, first := 0, ""
	for _, s := range o.subjects {
		why := m.changedOne(o, s)
		switch {
		case why == "":
			continue
		case len(o.subjects) == 1:
			return "changed meanwhile: " + why
		case first == "":
			first = targetName(s.t) + ": " + why
		}
		n++
	}
	switch n {
	case 0:
		return ""
	case len(o.subjects): // none is left to act on: all are looked at again
		return fmt.Sprintf("changed meanwhile: all %d; %s", n, first)
	}
	return fmt.Sprintf("changed meanwhile and left out: %d of %d; %s", n, len(o.subjects), first)
}

// changedOne says how one target of o differs from what was seen, or "".
func (m *Model) changedOne(o *open, s subject) string {
	if s.task != nil {
		if now := m.state.Tasks[s.task.ID]; now != nil && now.Attempt != o.attempts[now.ID] {
			return fmt.Sprintf("it was sent again and runs as attempt %d", now.Attempt)
		}
	}
	if s.item == nil {
		return ""
	}
	id := s.item.ID()
	return materialChange(o.seen[id], m.state.Items[id])
}

// leftOut are the targets of o, by key, that are not as they were seen or that the
// act cannot be done to any more, and why.
func (m *Model) leftOut(o *open) map[string]string {
	out := map[string]string{}
	for _, s := range o.subjects {
		if why := m.impossibleOne(o, s); why != "" {
			out[s.t.Key()] = "no longer possible: " + why
		} else if why := m.changedOne(o, s); why != "" {
			out[s.t.Key()] = "changed meanwhile: " + why
		}
	}
	return out
}

// onDialogKey hands the top dialog a key and carries out its answer.
func (m *Model) onDialogKey(k tea.KeyPressMsg) tea.Cmd {
	o := m.top()
	if !o.d.Armed() {
		return m.waitQuiet(o)
	}
	if k.String() == "ctrl+c" {
		return m.interrupt()
	}
	if k.String() == "ctrl+e" && len(m.opts.Editor) > 0 {
		if f := o.d.Focused(); f != nil && f.Options == nil {
			return m.editOutside(o, f.Name, f.Value())
		}
	}
	return m.answered(o, o.d.Key(k))
}

// answered carries out what a key or the mouse answered.
func (m *Model) answered(o *open, out dialog.Outcome) tea.Cmd {
	if !out.Closed {
		return nil
	}
	if out.Value == "" {
		m.close(o)
		return nil
	}
	if left := m.leftOut(o); len(left) > 0 && len(left) < len(o.subjects) {
		// Of several, those are acted on that are as they were seen; the report
		// names the others.
		m.acts.leftOut = left
		defer func() { m.acts.leftOut = nil }()
	} else if why := m.impossible(o); why != "" {
		o.d.Refuse("no longer possible: " + why)
		return nil
	} else if why := m.changed(o); why != "" {
		// Show what is true now; the next answer is about that.
		m.lookAgain(o)
		o.d.Refuse(why + ". Look again, then answer once more.")
		return nil
	}
	cmd, why := o.answer(out.Value)
	if why != "" {
		o.d.Refuse(why)
		return nil
	}
	m.close(o)
	return cmd
}

// lookAgain takes the present items as seen: the warning names what changed.
func (m *Model) lookAgain(o *open) {
	for i, s := range o.subjects {
		if s.task != nil {
			if now := m.state.Tasks[s.task.ID]; now != nil {
				o.subjects[i].task, o.attempts[now.ID] = now, now.Attempt
			}
		}
		if s.item == nil {
			continue
		}
		if now := m.state.Items[s.item.ID()]; now != nil {
			o.seen[s.item.ID()] = now
			o.subjects[i].item = now
		}
	}
	if o.info != nil {
		o.d.Info = o.info(o.subjects)
	}
}

// impossible says why the action of o cannot be done any more, or "".
func (m *Model) impossible(o *open) string {
	for _, s := range o.subjects {
		if why := m.impossibleOne(o, s); why != "" {
			return why
		}
	}
	return ""
}

func (m *Model) impossibleOne(o *open, s subject) string {
	if o.act == nil {
		return ""
	}
	if why := m.requestGone(s); why != "" {
		return why
	}
	if ok, why := m.enabled(o.act, m.subjectOf(s.t)); !ok {
		return why
	}
	return ""
}

func (m *Model) close(o *open) {
	if i := slices.Index(m.dialogs, o); i >= 0 {
		m.dialogs = slices.Delete(m.dialogs, i, i+1)
	}
}

// revision is what the act must find at the owner: the target as it is in the
// state now, because only signs of life can have come since it was seen.
func (m *Model) revision(s subject) uint64 {
	if now := m.state.Items[s.t.WorkItemID]; now != nil {
		return now.Revision
	}
	return s.t.Revision
}

// bulkOf makes the report of an act on several targets and takes the marks away;
// nil for one target.
func (m *Model) bulkOf(verb string, ss []subject) *bulk {
	if len(ss) < 2 {
		return nil
	}
	clear(m.marks)
	return &bulk{verb: verb, total: len(ss)}
}

// actOn sends one act per subject that is as it was seen.
func (m *Model) actOn(verb string, ss []subject, build func(subject) acop.Act) tea.Cmd {
	b := m.bulkOf(verb, ss)
	var cmds []tea.Cmd
	for _, s := range ss {
		if why := m.acts.leftOut[s.t.Key()]; why != "" {
			cmds = append(cmds, m.refuse(verb, s.t, why, b))
			continue
		}
		act := build(s)
		act.WorkItemID = s.t.WorkItemID
		act.IfRevision = m.revision(s)
		cmds = append(cmds, m.do(verb, s.t, act, b))
	}
	return tea.Batch(cmds...)
}

// markedInOrder are the marked targets, by key.
func (m *Model) markedInOrder() []screen.Target {
	out := make([]screen.Target, 0, len(m.marks))
	for _, t := range m.marks {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b screen.Target) int { return strings.Compare(a.Key(), b.Key()) })
	return out
}
