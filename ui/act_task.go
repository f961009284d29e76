package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
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
		clear(m.marks)
		var cmds []tea.Cmd
		for _, s := range ss {
			id := s.t.TaskID
			cmds = append(cmds, m.doTask("cancel", s.t, func(ctx context.Context, b Buyer) error { return b.Cancel(ctx, id, reason) }))
		}
		return tea.Batch(cmds...), ""
	})
}

// taskInfo tells what a task is doing.
func (m *Model) taskInfo(ss []subject) []dialog.Line {
	if len(ss) != 1 {
		return m.listInfo(ss)
	}
	t := ss[0].task
	if t == nil {
		return nil
	}
	now := m.clock.now
	out := []dialog.Line{
		dialog.Text(clean(t.Params.Capability), dialog.Strong),
		label("provider", clean(t.Provider)+" · attempt "+strconv.Itoa(t.Attempt), dialog.Plain),
		label("running", kit.Span(now.Sub(t.SentAt))+" · deadline in "+kit.Span(t.Deadline.Sub(now))+
			" · last sign "+kit.Ago(t.LastSign, now)+" ago", dialog.Plain),
	}
	return append(out, dialog.Text("The provider is asked to stop; what it has sent stays readable.", dialog.Muted))
}

func (m *Model) resend(ss []subject) tea.Cmd {
	d := &dialog.Dialog{Title: heading("Re-send", ss), Buttons: []dialog.Button{yes("send again"), back}}
	info := func(ss []subject) []dialog.Line {
		return append(m.taskInfo(ss)[:3:3], dialog.Text("Same task_id: a provider that knows it never runs it twice. Partial output is discarded.", dialog.Muted))
	}
	id := ss[0].t.TaskID
	return m.ask(d, ss, info, func(string) (tea.Cmd, string) {
		return m.doTask("re-send", ss[0].t, func(ctx context.Context, b Buyer) error { return b.Resend(ctx, id) }), ""
	})
}

// capSep stands between provider and capability in a choice's value.
const capSep = "\x00"

// capabilityOptions are what the providers advertise. A provider that names no
// capability is offered too; its capability is typed.
func (m *Model) capabilityOptions() []dialog.Option {
	var out []dialog.Option
	for _, name := range m.state.ProviderOrder {
		p := m.state.Providers[name]
		if p.Settings == nil {
			continue
		}
		note := "on " + clean(name)
		if p.Reachable != nil && !*p.Reachable {
			note += ", not reachable now"
		}
		for _, c := range p.Settings.Features.Capabilities {
			n := note
			if c.PriceCU != "" {
				n += ", " + kit.CU(string(c.PriceCU)) + " CU"
			}
			out = append(out, dialog.Option{Value: name + capSep + c.Name, Label: clean(c.Name), Note: n})
		}
		out = append(out, dialog.Option{Value: name + capSep, Label: "other", Note: note})
	}
	return out
}

// invoke composes an invocation; what was entered last is there again.
func (m *Model) invoke([]subject) tea.Cmd {
	last := m.input.lastInvoke
	what := dialog.NewChoice("what", "capability", last["what"], m.capabilityOptions()...)
	what.Required = true
	named := dialog.NewText("named", "its name", last["named"])
	named.Required = true
	named.When = func(d *dialog.Dialog) bool { return strings.HasSuffix(d.Value("what"), capSep) }
	in := dialog.NewText("input", "input", last["input"])
	in.Hint = "none; @file sends a file"
	typ := dialog.NewChoice("type", "input is", orElse(last["type"], "text"), dialog.Option{Value: "text"}, dialog.Option{Value: "json", Label: "JSON"})
	typ.Skip = true
	stream := dialog.NewChoice("stream", "stream", orElse(last["stream"], "yes"), dialog.Option{Value: "yes"}, dialog.Option{Value: "no"})
	stream.Skip = true
	stream.When = func(d *dialog.Dialog) bool { return m.streams(d.Value("what")) }
	timeout := dialog.NewText("timeout", "timeout", orElse(last["timeout"], "60s"))
	timeout.Valid, timeout.Skip = validTimeout, true
	ceiling := dialog.NewText("ceiling", "at most CU", last["ceiling"])
	ceiling.Hint, ceiling.Valid, ceiling.Skip = "no ceiling", validCU, true
	d := &dialog.Dialog{
		Title: "Invoke", Fields: []*dialog.Field{what, named, in, typ, stream, timeout, ceiling},
		Buttons: []dialog.Button{yes("invoke"), back},
	}
	return m.ask(d, nil, nil, func(string) (tea.Cmd, string) { return m.sendInvoke(d) })
}

// streams reports whether the provider of a choice advertised streamed output
//
func (m *Model) streams(what string) bool {
	name, _, _ := strings.Cut(what, capSep)
	p, ok := m.state.Providers[name]
	return ok && p.Settings != nil && p.Settings.Features.OutputStreaming
}

func (m *Model) sendInvoke(d *dialog.Dialog) (tea.Cmd, string) {
	provider, capability, _ := strings.Cut(d.Value("what"), capSep)
	if capability == "" {
		capability = strings.TrimSpace(d.Value("named"))
	}
	if provider == "" {
		return nil, "no capability fits what you typed"
	}
	p := acmp.InvokeParams{Capability: capability, OutputType: "text"}
	p.Stream = m.streams(d.Value("what")) && d.Value("stream") == "yes"
	if t, err := parseTimeout(d.Value("timeout")); err == nil {
		p.TimeoutMS = t.Milliseconds()
	}
	if c := strings.TrimSpace(d.Value("ceiling")); c != "" {
		n := json.Number(c)
		p.MaxPriceCU = &n
	}
	raw, typ := d.Value("input"), d.Value("type")
	file := ""
	if strings.HasPrefix(raw, "@") {
		file = strings.TrimSpace(raw[1:])
	} else {
		payload, why := payloadOf(raw, typ)
		if why != "" {
			return nil, why
		}
		p.Input = payload
	}
	m.input.remember(d, "what", "named", "input", "type", "stream", "timeout", "ceiling")
	return m.startTask(acmp.Invocation{Provider: provider, Params: p}, file, typ), ""
}

// startTask asks the buyer to run inv; file, if not empty, holds its input.
func (m *Model) startTask(inv acmp.Invocation, file, typ string) tea.Cmd {
	t := screen.Target{Kind: screen.KindProvider, ID: inv.Provider + " " + inv.Params.Capability}
	f := &flight{verb: "invoke", name: clean(inv.Params.Capability) + " on " + clean(inv.Provider), target: t, taskID: "new"}
	if w := m.acts.busy(t); w != "" {
		return m.toast(screen.Warn, "invoke "+f.name+": the last one is still being sent")
	}
	m.acts.begin(f)
	m.apply(fleet.OwnAct{At: m.clock.now, ID: f.id, Verb: "invoke"})
	buyer, now, ctx, id := m.opts.Buyer, m.opts.Now, m.ctx, f.id
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		if file != "" {
			p, err := readInput(file, typ)
			if err != nil {
				return taskActDone{id, "", err, now()}
			}
			inv.Params.Input = p
		}
		taskID, err := buyer.Invoke(ctx, inv)
		return taskActDone{id, taskID, err, now()}
	}
}

// startedTask shows the task that an invocation made.
func (m *Model) startedTask(f *flight, taskID string) tea.Cmd {
	m.goTo(screen.Tasks)
	m.room().Select(m.bodyCtx(), screen.Task(taskID))
	return m.toast(screen.Good, "invoked "+f.name+" as "+shortTask(taskID))
}

// inputLimit bounds an input read from a file, in bytes.
const inputLimit = 1 << 20

func readInput(file, typ string) (*acmp.Payload, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	if info.Size() > inputLimit {
		return nil, fmt.Errorf("%s holds more than %d bytes; stream it instead", file, inputLimit)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	p, why := payloadOf(string(b), typ)
	if why != "" {
		return nil, fmt.Errorf("%s: %s", file, why)
	}
	return p, nil
}

// payloadOf makes the input out of what was typed. Nothing typed is an input
// too, an empty one: the protocol has no task without input (3.1).
func payloadOf(raw, typ string) (*acmp.Payload, string) {
	if typ == "json" {
		if raw == "" {
			raw = "null"
		}
		if !json.Valid([]byte(raw)) {
			return nil, "the input is not valid JSON"
		}
		return &acmp.Payload{Type: "json", Data: json.RawMessage(raw)}, ""
	}
	data, err := json.Marshal(strings.ToValidUTF8(raw, "\ufffd"))
	if err != nil {
		return nil, err.Error()
	}
	return &acmp.Payload{Type: "text", Data: data}, ""
}

func parseTimeout(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.Atoi(s); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	return time.ParseDuration(s)
}

func validTimeout(s string) string {
	if d, err := parseTimeout(s); err != nil || d <= 0 {
		return "a timeout is like 30s or 5m"
	}
	return ""
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func validCU(s string) string {
	if s = strings.TrimSpace(s); s != "" && !decimal.MatchString(s) {
		return "a ceiling is a number like 0.005"
	}
	return ""
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
