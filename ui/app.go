package ui

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
	"signalbox/ui/screen"
	"signalbox/ui/theme"
)

// FrameRate is how often a second whoever runs the dashboard lets the renderer look
// whether there is something to draw. Each look costs an idle box processor time;
// a slower beat would show a key later than 50 ms under full load.
const FrameRate = 36

// Options say what a dashboard is connected to and how it looks. The zero value
// draws, but can act on nothing.
type Options struct {
	// Owner and Buyer carry out acts; nil makes every act of theirs refuse.
	Owner Owner
	Buyer Buyer
	// Identity and Server are shown until the owner's snapshot tells better.
	Identity, Server string

	ReadOnly bool
	NoColor  bool
	ASCII    bool
	Theme    theme.Name // "" is Auto
	NoMouse  bool
	// Keys replaces the keys of actions, by their ids; see [CheckKeys].
	Keys map[string][]string

	// Now is the clock, read by commands alone; nil is time.Now.
	Now func() time.Time
	// CarriesOwner tells that the owner ends with this program.
	CarriesOwner bool
	// Passing tells that nothing of this box is meant to stay, so that q leaves
	// without asking.
	Passing bool
	// CanBackground offers, when quitting, to keep the work going without the
	// screen; see [Model.Background].
	CanBackground bool
	// Notify is how a new ask makes itself known while the terminal has no
	// focus: "" or "off", "bell", "osc", "command" by NotifyBy.
	Notify string
	// NotifyBy is called from a command with the worst ask that arrived.
	NotifyBy func(context.Context, fleet.Ask)
	// Floor is the severity below which an ask does not make itself known.
	Floor fleet.Severity
	// OnAsk, when not nil, is called from a command for every ask that arrives.
	OnAsk func(context.Context, fleet.Ask)
	// Save, when not nil, writes an export and returns where it stands.
	Save func(name string, content []byte) (path string, err error)
	// SaveFrom is Save for what is too long to hold.
	SaveFrom func(name string, content io.Reader) (path string, err error)
	// NoClipboard tells that the terminal is known to take no OSC 52; copies go to
	// files then.
	NoClipboard bool
	// Editor is the command of $EDITOR, split; empty turns editing outside off.
	Editor []string
	// HoldInput, when not nil, leaves the terminal's input to another program until
	// resume is called.
	HoldInput func() (resume func())
	// TerminalBehind, when not nil, reports whether the terminal has not yet taken all
	// it was given. The frame then stands still until the next message after that;
	// whoever runs the dashboard sends a [TerminalReadyMsg]. It is called in the event
	// loop and must not block.
	TerminalBehind func() bool
	// Log takes what was shown as an error; nil discards it.
	Log *slog.Logger
}

// Model is the root of the dashboard: the one tea.Model. It belongs to the
// event loop.
type Model struct {
	opts    Options
	actions []action // with the keys as they are bound
	state   *fleet.State

	clock   clock
	look    look
	size    size
	rooms   rooms
	acts    acts
	toasts  toasts
	queue   queueWatch
	pointer pointer
	input   input
	end     ending
	still   still
	slip    slip

	marks   screen.Marks
	snoozed map[string]time.Time
	dialogs []*open
	ctx     context.Context
	touched bool // a person pressed a key or used the mouse
}

// size is the terminal's size and what follows from it.
type size struct {
	w, h  int
	rects Rects
}

// ending is how the dashboard was left.
type ending struct {
	background  bool
	interrupted bool
	// left blanks the last frame: a multiplexer whose window has grown may show
	// the cells of the alternate screen again once it is gone (B91).
	left bool
}

// New makes a dashboard. Its commands run until ctx ends; whoever runs the program
// ends it when the program has ended.
func New(ctx context.Context, o Options) *Model {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Model{
		opts: o, ctx: ctx, actions: rebind(o.Keys),
		state:   fleet.New(),
		look:    newLook(o),
		acts:    newActs(rand.Text()),
		marks:   screen.Marks{},
		snoozed: map[string]time.Time{},
	}
	m.clock.now = o.Now()
	m.pointer.focused = true
	m.rooms.all = newScreens()
	m.size.rects = Layout(0, 0)
	return m
}

// State is the read model, for tests and for what stays after the program has
// ended. It must not be used while the program runs.
func (m *Model) State() *fleet.State { return m.state }

// Background reports whether the person asked to keep the work going without the
// screen. It is valid after the program has ended.
func (m *Model) Background() bool { return m.end.background }

// Interrupted reports whether the dashboard was left with ctrl+c.
func (m *Model) Interrupted() bool { return m.end.interrupted }

// Init asks the terminal for its background and starts the clock.
func (m *Model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.schedule())
}

// Update takes one message. It is pure: what takes time or touches the world is
// returned as a command.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.route(msg)
	m.settle()
	return m, tea.Batch(cmd, m.schedule())
}

// settle brings what is drawn in line with what has happened, because drawing
// changes nothing.
func (m *Model) settle() {
	if m.toasts.moved {
		m.toasts.moved = false
		m.layout()
	}
	if o := m.top(); o != nil {
		if o.follow != nil {
			o.follow()
		}
		m.retell(o)
		r := m.size.rects.Over
		o.d.Fit(m.look.styles, r.W, r.H, m.changed(o))
	}
	if m.input.mode == inputHelp {
		m.input.scroll = max(0, min(m.input.scroll, m.helpPlan().last()))
	}
}

// ctxFor is what a screen sees in a view of w×h cells.
func (m *Model) ctxFor(w, h int) *screen.Ctx {
	return &screen.Ctx{
		State: m.state, Now: m.clock.now, Styles: m.look.styles, W: w, H: h,
		ReadOnly: m.opts.ReadOnly, Focused: m.screenHasKeys(),
		Fresh: !m.touched, Marks: m.marks, Pending: m.acts.words, Snoozed: m.snoozed,
	}
}

func (m *Model) bodyCtx() *screen.Ctx { return m.ctxFor(m.size.rects.Body.W, m.size.rects.Body.H) }

// screenHasKeys reports whether keys reach the screen.
func (m *Model) screenHasKeys() bool {
	return len(m.dialogs) == 0 && m.input.mode == inputNone
}
