package ui

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui/dialog"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// capSep stands between provider and capability in a choice's value.
const capSep = "\x00"

// capabilityOptions are the capabilities the providers advertise, each provider's
// last option being one that is typed.
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

// invokes are the inputs and terms of the last invocation of each capability: they
// belong to it and to no other one.
type invokes struct {
	last  string // provider, capSep, capability
	given map[string]map[string]string
}

// invokeFields are remembered for each capability, with what stands in them for one
// that was not invoked yet.
var invokeFields = map[string]string{
	"input": "", "type": "text", "input-stream": "no", "stream": "yes", "timeout": "", "ceiling": "", "proof": "", "escrow": "",
}

// recall fills the fields that nobody has given a value in this form with those of the
// capability called key.
func (in *invokes) recall(d *dialog.Dialog, key string) {
	for name, first := range invokeFields {
		if v, ok := in.given[key][name]; ok {
			first = v
		}
		d.Field(name).Recall(first)
	}
}

func (in *invokes) remember(d *dialog.Dialog, key string) {
	if in.given == nil {
		in.given = map[string]map[string]string{}
	}
	in.last, in.given[key] = key, map[string]string{}
	for name := range invokeFields {
		in.given[key][name] = d.Value(name)
	}
}

// invoke composes an invocation. It begins with the capability that was invoked last;
// with another one come the input and the terms that one was given last.
func (m *Model) invoke([]subject) tea.Cmd {
	d := &dialog.Dialog{
		Title: "Invoke", Fields: append(m.invokeWhat(m.input.invokes.last), m.invokeHow()...),
		Buttons: []dialog.Button{yes("invoke"), back},
	}
	cmd := m.ask(d, nil, nil, func(string) (tea.Cmd, string) { return m.sendInvoke(d) })
	shown := ""
	m.top().follow = func() {
		if key := capabilityKey(d); key != shown {
			shown = key
			m.input.invokes.recall(d, key)
		}
	}
	return cmd
}

// capabilityKey names the chosen capability among all providers.
func capabilityKey(d *dialog.Dialog) string {
	provider, capability := chosen(d)
	return provider + capSep + capability
}

// invokeWhat asks for what is run and on what, first for the capability called last.
func (m *Model) invokeWhat(last string) []*dialog.Field {
	options, unknown := m.capabilityOptions(), ""
	if provider, capability, ok := strings.Cut(last, capSep); ok && !slices.ContainsFunc(options, func(o dialog.Option) bool { return o.Value == last }) {
		last, unknown = provider+capSep, capability
	}
	what := dialog.NewChoice("what", "capability", last, options...)
	what.Required, what.Other = true, true
	at := dialog.NewChoice("at", "provider", "", m.providerOptions()...)
	at.Required = true
	at.When = func(d *dialog.Dialog) bool { return written(d.Value("what")) }
	named := dialog.NewText("named", "its name", unknown)
	named.Required = true
	named.When = func(d *dialog.Dialog) bool { return strings.HasSuffix(d.Value("what"), capSep) }
	in := &dialog.Field{Name: "input", Label: "input", Grow: true, Hint: "none; @file sends a file"}
	if len(m.opts.Editor) > 0 {
		in.Hint += ", ctrl+e opens $EDITOR"
	}
	typ := dialog.NewChoice("type", "input is", "", dialog.Option{Value: "text"}, dialog.Option{Value: "json", Label: "JSON"})
	typ.Skip = true
	feed := dialog.NewChoice("input-stream", "more input", "",
		dialog.Option{Value: "no", Label: "none"}, dialog.Option{Value: "yes", Label: "as it runs"})
	feed.Skip = true
	feed.When = func(d *dialog.Dialog) bool { return m.features(d).InputStreaming }
	return []*dialog.Field{what, at, named, in, typ, feed}
}

// invokeHow asks for the terms; all have good defaults.
func (m *Model) invokeHow() []*dialog.Field {
	stream := dialog.NewChoice("stream", "stream", "", dialog.Option{Value: "yes"}, dialog.Option{Value: "no"})
	stream.When = func(d *dialog.Dialog) bool { return m.features(d).OutputStreaming }
	timeout := dialog.NewText("timeout", "timeout", "")
	timeout.HintNow = m.ownLimitWords
	timeout.Valid, timeout.Note = validLength("a timeout", time.Millisecond), lengthUnits
	ceiling := dialog.NewText("ceiling", "at most", "")
	ceiling.Hint, ceiling.Valid, ceiling.Note = "no ceiling", validCU, "CU"
	proof := dialog.NewChoice("proof", "proof", "",
		dialog.Option{Value: "", Label: "none"}, dialog.Option{Value: acmp.ProofResultHash, Label: "result hash"})
	escrow := dialog.NewText("escrow", "escrow id", "")
	escrow.Hint = "none"
	out := []*dialog.Field{stream, timeout, ceiling, proof, escrow}
	for _, f := range out {
		f.Skip = true
	}
	return out
}

// written reports whether a capability was written that nobody advertises: the
// provider is asked for then.
func written(what string) bool { return what != "" && !strings.Contains(what, capSep) }

// providerOptions are the providers that have told what they do.
func (m *Model) providerOptions() []dialog.Option {
	var out []dialog.Option
	for _, name := range m.state.ProviderOrder {
		if m.state.Providers[name].Settings != nil {
			out = append(out, dialog.Option{Value: name, Label: clean(name)})
		}
	}
	return out
}

// chosen are the provider and the capability of the form.
func chosen(d *dialog.Dialog) (provider, capability string) {
	what := d.Value("what")
	if written(what) {
		return d.Value("at"), what
	}
	provider, capability, _ = strings.Cut(what, capSep)
	if capability == "" {
		capability = strings.TrimSpace(d.Value("named"))
	}
	return provider, capability
}

// features are what the chosen provider advertises.
func (m *Model) features(d *dialog.Dialog) acmp.Features {
	name, _ := chosen(d)
	if p, ok := m.state.Providers[name]; ok && p.Settings != nil {
		return p.Settings.Features
	}
	return acmp.Features{}
}

// sendInvoke builds the invocation and starts it.
func (m *Model) sendInvoke(d *dialog.Dialog) (tea.Cmd, string) {
	provider, capability := chosen(d)
	if provider == "" {
		return nil, "no provider is known that could run it"
	}
	p := invokeTerms(d)
	p.Capability = capability
	if p.TimeoutMS == 0 {
		limit, _ := m.ownLimit(d)
		p.TimeoutMS = limit.Milliseconds()
	}
	p.Stream = m.features(d).OutputStreaming && d.Value("stream") == "yes"
	p.InputStream = m.features(d).InputStreaming && d.Value("input-stream") == "yes"
	in, why := inputOf(d.Value("input"), d.Value("type"))
	if why != "" {
		return nil, why
	}
	m.input.invokes.remember(d, capabilityKey(d))
	return m.startTask(acmp.Invocation{Provider: provider, Params: p}, in), ""
}

// limitless is the timeout of a task whose capability has none of its own and for
// which none was written. The protocol's default of 30 s would end honest work.
const limitless = 10 * time.Minute

// ownLimit is how long the chosen capability may run by what its provider
// advertises, or limitless and false.
func (m *Model) ownLimit(d *dialog.Dialog) (time.Duration, bool) {
	_, name := chosen(d)
	for _, c := range m.features(d).Capabilities {
		if c.Name == name && c.TimeoutMS > 0 {
			return time.Duration(c.TimeoutMS) * time.Millisecond, true
		}
	}
	return limitless, false
}

func (m *Model) ownLimitWords(d *dialog.Dialog) string {
	limit, own := m.ownLimit(d)
	if own {
		return kit.Span(limit) + ", as its provider limits it"
	}
	return kit.Span(limit) + "; its provider tells no limit"
}

// invokeTerms reads the terms, which the fields have already checked.
func invokeTerms(d *dialog.Dialog) acmp.InvokeParams {
	p := acmp.InvokeParams{OutputType: "text", ProofMethod: d.Value("proof"), EscrowID: strings.TrimSpace(d.Value("escrow"))}
	if t, ok := parseLength(d.Value("timeout")); ok {
		p.TimeoutMS = t.Milliseconds()
	}
	if c := strings.TrimSpace(d.Value("ceiling")); c != "" {
		n := json.Number(c)
		p.MaxPriceCU = &n
	}
	return p
}

// startTask sends an invocation. The input of a task that takes more as it runs
// goes in pieces once it was accepted, any other with it.
func (m *Model) startTask(inv acmp.Invocation, in taskInput) tea.Cmd {
	t := screen.Target{Kind: screen.KindProvider, ID: inv.Provider + " " + inv.Params.Capability}
	f := &flight{verb: "invoke", name: clean(inv.Params.Capability) + " on " + clean(inv.Provider), target: t, taskID: "new"}
	if w := m.acts.busy(t); w != "" {
		return m.toast(screen.Warn, "invoke "+f.name+": the last one is still being sent")
	}
	m.acts.begin(f)
	m.apply(fleet.OwnAct{At: m.clock.now, ID: f.id, Verb: "invoke"})
	buyer, now, ctx, id := m.opts.Buyer, m.opts.Now, m.ctx, f.id
	return func() tea.Msg {
		call, cancel := context.WithTimeout(ctx, actTimeout)
		defer cancel()
		if !inv.Params.InputStream {
			p, err := in.payload()
			if err != nil {
				return taskActDone{id: id, err: err, at: now()}
			}
			inv.Params.Input = p
		}
		taskID, err := buyer.Invoke(call, inv)
		done := taskActDone{id: id, taskID: taskID, err: err, at: now()}
		if err == nil && inv.Params.InputStream {
			done.feed = in
		}
		return done
	}
}

// startedTask shows the new task and begins to feed it.
func (m *Model) startedTask(f *flight, msg taskActDone) tea.Cmd {
	m.goTo(screen.Tasks)
	m.want(screen.Task(msg.taskID))
	return tea.Batch(m.toast(screen.Good, "invoked "+f.name+" as "+shortTask(msg.taskID)), m.feedTask(msg.taskID, msg.feed))
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
