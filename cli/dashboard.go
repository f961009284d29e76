package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/client/acmp"
	"signalbox/client/acop"
	macmp "signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/input"
	"signalbox/ui/theme"
	"signalbox/ui/tty"
)

// leaveWithin bounds what ending the dashboard may take once the screen is gone.
const leaveWithin = 3 * time.Second

// earlierShown is how many tasks of earlier runs the dashboard lists.
const earlierShown = 200

// dashboard is what one run of the screen is connected to.
type dashboard struct {
	server   string
	token    acop.TokenFunc
	identity string
	// carriesOwner tells that the owner ends with this program.
	carriesOwner bool
	// passing tells that nothing of this box is meant to stay, so that leaving it
	// needs no warning.
	passing   bool
	providers []acmp.ProviderSpec
	buyerDir  string
	log       *slog.Logger
	// background, when not nil, is set when the lead leaves and the box is to go on
	// without the screen. Only what carries the owner offers it.
	background *bool
	// started, when not nil, is called once the buyer can be used.
	started func(ctx context.Context, b *acmp.Buyer)
}

// runDashboard draws until the person leaves, or a signal ends it. The terminal
// is restored in every case.
func (g *globals) runDashboard(ctx context.Context, d dashboard) error {
	if err := g.requireTerminal(); err != nil {
		return err
	}
	conf, err := g.loadConfig()
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner, err := acop.New(acop.Options{BaseURL: d.server, Token: d.token, Identity: d.identity, Log: d.log})
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	defer owner.Close()

	keyboard := input.New(g.sys.Stdin.(*os.File)) // requireTerminal has looked
	// Send blocks until Run has begun; the pump may start before.
	var program *tea.Program
	screen := tty.New(g.sys.Stdout.(*os.File), tty.Limit, func(lost bool) {
		if lost {
			program.Send(tea.ClearScreen())
		}
		program.Send(ui.TerminalReadyMsg{})
	})
	guard := &crash{stop: cancel}
	feed := newPump(func(facts []fleet.Fact) { program.Send(ui.FactsMsg{Facts: facts}) })
	buyer, err := d.newBuyer(&conf, feed)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	asked, noted := newHook(conf.OnAsk, d.log), newHook(conf.Notify.command, d.log)
	o := g.uiOptions(d, &conf)
	o.Owner, o.Buyer, o.HoldInput, o.TerminalBehind = owner, buyer, keyboard.Pause, screen.Behind
	o.OnAsk, o.NotifyBy = asked.port(), noted.port()
	model := ui.New(ctx, o)
	program = g.newProgram(&guarded{model: model, crash: guard}, keyboard, screen)

	var work sync.WaitGroup
	work.Go(func() { defer guard.catch(); feed.run(ctx) })
	work.Go(func() {
		defer guard.catch()
		feed.put(fleet.EarlierTasks{Outcomes: buyer.Earlier(earlierShown)})
		watchOwner(ctx, owner, feed.put)
	})
	if d.started != nil {
		work.Go(func() { defer guard.catch(); d.started(ctx, buyer) })
	}
	caught := g.quitOnSignal(ctx, program)
	_, err = program.Run()
	cancel()
	work.Go(asked.close)
	work.Go(noted.close)
	d.leave(ctx, &work, buyer)
	if crashed := guard.report(g.stateDir()); crashed != nil {
		return crashed
	}
	if d.background != nil {
		*d.background = model.Background()
	}
	return dashboardError(err, caught())
}

// newBuyer starts the buyer, which tells feed what happens.
func (d dashboard) newBuyer(conf *config, feed *pump) (*acmp.Buyer, error) {
	left := &leftovers{put: feed.put}
	return acmp.New(acmp.Options{
		Providers:    d.providers,
		StateDir:     d.buyerDir,
		Name:         fmt.Sprintf("signalbox, process %d", os.Getpid()),
		Transcripts:  conf.Transcripts.bounds(),
		Events:       func(e macmp.TaskEvent) { feed.put(fleet.TaskHappened{Event: e}) },
		ProviderSeen: func(p macmp.Provider) { feed.put(fleet.ProviderSeen{Provider: p, At: time.Now()}) },
		Left:         left.note,
		Log:          d.log,
		Watchdog:     watchdogArgv(),
		Version:      build().Version,
		KeepSilent:   true, // the lead decides about a silent task, not a timer
	})
}

// uiOptions is what flags, environment and configuration say of the screen.
func (g *globals) uiOptions(d dashboard, conf *config) ui.Options {
	return ui.Options{
		Identity: d.identity, Server: d.server,
		ReadOnly: g.readOnly, NoColor: g.noColor || g.sys.Env("NO_COLOR") != "", ASCII: g.ascii || conf.ASCII || g.signsAreWide(),
		CarriesOwner: d.carriesOwner, Passing: d.passing, CanBackground: d.background != nil,
		Theme: theme.Name(conf.Theme), NoMouse: conf.Mouse == "off", Keys: conf.bound(),
		Notify: conf.Notify.how, Floor: conf.floor(),
		NoClipboard: g.lacksClipboard(), SaveFrom: g.saveFrom, Save: g.saveExport,
		Editor: g.editor(), Log: d.log,
	}
}

// newProgram puts a model on the terminal.
func (g *globals) newProgram(m tea.Model, keyboard *input.Reader, screen *tty.Writer) *tea.Program {
	return tea.NewProgram(m,
		tea.WithInput(line{keyboard, screen}),
		tea.WithOutput(screen),
		tea.WithoutSignalHandler(), // signals are ours: see quitOnSignal
		tea.WithFPS(ui.FrameRate),
	)
}

// leave ends the clients; what they cannot finish in time is left to the end of
// the process.
func (d dashboard) leave(ctx context.Context, work *sync.WaitGroup, buyer *acmp.Buyer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	if err := buyer.Close(ctx); err != nil {
		d.log.Warn("tasks were left running", "error", err)
	}
	done := make(chan struct{})
	go func() { work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		d.log.Warn("a connection did not end in time")
	}
}

// editor is the person's editor with its arguments; nil when none is named, or
// when its words cannot be told apart.
func (g *globals) editor() []string {
	words, err := splitWords(firstOf(g.sys.Env("VISUAL"), g.sys.Env("EDITOR")))
	if err != nil {
		return nil
	}
	return words
}

// quitOnSignal ends the program in good order, terminal restored, on the signals
// that ask for it; the default action of SIGHUP would leave the terminal raw
// (B88). The result tells which one came, nil for none.
func (g *globals) quitOnSignal(ctx context.Context, p *tea.Program) func() os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	got := make(chan os.Signal, 1)
	go func() {
		defer signal.Stop(signals)
		select {
		case s := <-signals:
			got <- s
		case <-ctx.Done():
		}
		p.Send(ui.LeaveMsg{}) // blanks the frame
		p.Quit()
	}()
	return func() os.Signal {
		select {
		case s := <-got:
			return s
		default:
			return nil
		}
	}
}

// dashboardError tells how the screen ended. A signal that ended it in good order is
// no success either: the code is 128 and its number, as a shell has it (B88).
func dashboardError(err error, caught os.Signal) error {
	switch {
	case caught != nil && (err == nil || errors.Is(err, tea.ErrProgramKilled)):
		return signalled(caught)
	case err == nil:
		return nil
	default:
		return failf(exitFailed, "the dashboard ended: %w", err)
	}
}

// newLogger writes to --log-file, else to fallback; nil discards. The closer
// must be called at the end.
func (g *globals) newLogger(fallback io.Writer) (*slog.Logger, func(), error) {
	if g.logFile == "" {
		if fallback == nil {
			return slog.New(slog.DiscardHandler), func() {}, nil
		}
		return slog.New(slog.NewTextHandler(fallback, nil)), func() {}, nil
	}
	f, err := os.OpenFile(g.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, failf(exitUsage, "--log-file: %w", err)
	}
	return slog.New(slog.NewJSONHandler(f, nil)), func() { _ = f.Close() }, nil
}
