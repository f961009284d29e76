package ui

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
	"signalbox/ui/dialog"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// cancelAny cancels tasks on rows of tasks and items on rows of items.
func (m *Model) cancelAny(ss []subject) tea.Cmd {
	var tasks, items []subject
	for _, s := range ss {
		if s.task != nil {
			tasks = append(tasks, s)
		} else {
			items = append(items, s)
		}
	}
	if len(tasks) > 0 && len(items) > 0 {
		return m.toast(screen.Warn, "cancel: items and tasks are marked together; cancel one kind at a time")
	}
	if len(tasks) > 0 {
		return m.cancelTask(tasks)
	}
	return m.cancelItem(items)
}

func (m *Model) cancelTask(ss []subject) tea.Cmd {
	title := heading("Cancel", ss)
	if len(ss) > 1 {
		title = fmt.Sprintf("Cancel %d tasks", len(ss))
	}
	d := &dialog.Dialog{
		Title: title, Fields: []*dialog.Field{reasonField("reason", "", false)},
		Buttons: []dialog.Button{back, danger("cancel the task")},
	}
	return m.ask(d, ss, m.taskInfo, func(string) (tea.Cmd, string) {
		reason := strings.TrimSpace(d.Value("reason"))
		b := m.bulkOf("cancel", ss)
		var cmds []tea.Cmd
		for _, s := range ss {
			if why := m.acts.leftOut[s.t.Key()]; why != "" {
				cmds = append(cmds, m.refuse("cancel", s.t, why, b))
				continue
			}
			id := s.t.TaskID
			cmds = append(cmds, m.doTask("cancel", s.t, b, func(ctx context.Context, b Buyer) error { return b.Cancel(ctx, id, reason) }))
		}
		return tea.Batch(cmds...), ""
	})
}

// taskInfo tells what a task is doing.
func (m *Model) taskInfo(ss []subject) []dialog.Line {
	if len(ss) != 1 {
		return m.listInfo(ss)
	}
	return append(m.runningInfo(ss[0].task), dialog.Text("The provider is asked to stop; what it has sent stays readable.", dialog.Muted))
}

// retell brings the clocks of a dialog up to the present: they would be untrue a
// second later. It tells of a work item as it was seen; that it is another one by now
// is said apart, see changed.
func (m *Model) retell(o *open) {
	if o.info != nil {
		o.d.Info = o.info(o.subjects)
	}
}

// runningInfo tells of a task under way, or how it ended; nothing of one that is not
// known.
func (m *Model) runningInfo(t *fleet.Task) []dialog.Line {
	if t == nil {
		return nil
	}
	if live := m.state.Tasks[t.ID]; live != nil {
		t = live
	}
	now := m.clock.now
	head := []dialog.Line{
		dialog.Text(clean(t.Params.Capability), dialog.Strong),
		label("provider", clean(t.Provider)+" · attempt "+strconv.Itoa(t.Attempt), dialog.Plain),
	}
	if t.State.Final() {
		return append(head, label("ended", string(t.State)+" "+kit.Since(t.EndedAt, now), dialog.Plain))
	}
	return append(head,
		label("running", kit.Span(now.Sub(t.SentAt))+" · deadline in "+kit.Span(t.Deadline.Sub(now))+
			" · last sign "+kit.Since(t.LastSign, now), dialog.Plain))
}

func (m *Model) resend(ss []subject) tea.Cmd {
	d := &dialog.Dialog{Title: heading("Re-send", ss), Buttons: []dialog.Button{yes("send again"), back}}
	info := func(ss []subject) []dialog.Line {
		return append(m.runningInfo(ss[0].task), dialog.Text("Same task_id: a provider that knows it never runs it twice. Partial output is discarded.", dialog.Muted))
	}
	id := ss[0].t.TaskID
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.doTask("re-send", ss[0].t, nil, func(ctx context.Context, b Buyer) error { return b.Resend(ctx, id) }), ""
	})
}
