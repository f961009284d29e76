package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/server/acmp"
)

// runFlags are the flags of `work run`.
type runFlags struct {
	claimFlags
	resume   bool
	complete bool
	evidence []string
	contents bool
}

func newWorkRun(g *globals) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run WORK_ITEM_ID -- COMMAND [ARGUMENT...]",
		Short: "Hold an item while a command works on it",
		Long: `Claim an item, run a command, and keep the lease renewed for as long as the command
runs. When it prints something new, the lead is told so, every ten seconds at most:
how many lines there are, and with --contents the last one.

If the lease is lost, be it that a lead revokes it, that the item is cancelled or that
the owner cannot be reached in time, the command and all it has started get SIGTERM and
five seconds later SIGKILL. So they do when work run is interrupted, and nothing
outlives it even if it is killed.

When the command succeeds, the claim stands until its lease ends, for work complete to
say that the item is done; --complete does so at once, with how long it took as a note
on the blackboard. When the command fails, the item is released with the reason. The
command may complete or release the item itself.

What the command prints goes through, and what work run has to say goes to standard
error. With --json all of the command's output goes there too, and standard output gets
one object at the end, with its exit status: exit code 1 stands for a command that failed
as for a lease that was lost. The command has the environment of work run, with
SIGNALBOX_WORK_ITEM and SIGNALBOX_CLAIM, so that signalbox in it is the same worker. It
reads standard input unless that is a terminal.`,
		Example: "  signalbox work run work:shop/checkout --token-file worker-7.token -- make test\n" +
			"  signalbox work run work:shop/checkout --complete --evidence validation=r1 -- go test ./pay/...",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: g.completeItems(acop.StatusReady),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at != 1 || len(args) < 2 {
				return failf(exitUsage, "work run needs WORK_ITEM_ID -- COMMAND, the command behind the two dashes; see `%s --help`", cmd.CommandPath())
			}
			return g.workRun(cmd.Context(), f, args[0], args[1:])
		},
	}
	f.register(cmd.Flags())
	fl := cmd.Flags()
	fl.BoolVar(&f.resume, "resume", false, "go on under the claim that this worker holds already")
	fl.BoolVar(&f.complete, "complete", false, "complete the item when the command succeeds")
	fl.StringArrayVar(&f.evidence, "evidence", nil, "with --complete: "+evidenceHelp)
	fl.BoolVar(&f.contents, "contents", false, "tell the lead also the last line that the command printed")
	return cmd
}

// held is one run of a command under a claim.
type held struct {
	*work
	f       *runFlags
	item    string
	claim   acop.Claim
	argv    []string
	log     *slog.Logger
	signals *caught
	out     *meter
	ev      *acop.CompletionEvidence
	begin   time.Time
}

const (
	// runGrace is the time between SIGTERM and SIGKILL.
	runGrace = 5 * time.Second
	// finishPatience is how long the outcome is tried to be told to an owner that
	// does not answer, while the lease lasts.
	finishPatience = 2 * time.Minute
)

func (g *globals) workRun(ctx context.Context, f *runFlags, id string, argv []string) error {
	if err := f.check(); err != nil {
		return err
	}
	ev, err := evidenceOf(f.evidence)
	switch {
	case err != nil:
		return failf(exitUsage, "%w", err)
	case len(f.evidence) > 0 && !f.complete:
		return failf(exitUsage, "--evidence goes with --complete")
	case f.resume && f.wait:
		return failf(exitUsage, "--resume goes on under a claim that there is; --wait has nothing to wait for")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return failf(exitUsage, "the command %s cannot be run: install it, or write its whole path", text.ID(argv[0]))
	}
	w, done, err := g.openWork(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	log, closeLog, err := g.newLogger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	h := &held{work: w, f: f, item: id, argv: argv, log: log, ev: ev, out: newMeter()}
	signals := catchSignals(ctx, func() {
		g.remark("%s is not suspended: its lease would end meanwhile; ctrl+c ends it", text.ID(id))
	})
	defer signals.stop()
	h.signals = signals
	from, err := h.take(signals.ctx)
	if err != nil {
		return signals.reason(workError("run "+id, err))
	}
	return h.run(ctx, from)
}

// take gets the claim and tells from when on, by our clock, its lease counts.
func (h *held) take(ctx context.Context) (from time.Time, err error) {
	me, err := h.worker(ctx)
	if err != nil {
		return from, err
	}
	d, err := h.c.Detail(ctx, h.item)
	if err != nil {
		return from, err
	}
	if missing := d.Item.MissingEvidence(*h.ev); h.f.complete && len(missing) > 0 {
		return from, withMissing(d, acop.Errorf(acop.CodeValidationRequired, "--evidence must name what the success of the command proves").
			With("missing_requirement_ids", anys(missing)))
	}
	from = time.Now()
	if h.f.resume {
		if err := h.mustHold(ctx, d); err != nil {
			return from, err
		}
		h.claim = d.Item.Lease.Claim
	} else {
		r, err := h.work.claim(ctx, &h.f.claimFlags, h.item, me)
		if err != nil {
			return from, err
		}
		h.claim = *r.Claim
	}
	h.remark("%s is held by %s until %s (%s)", text.ID(h.item), text.ID(me), h.claim.ExpiresAtUTC, withKind("claim", h.claim.ClaimID))
	return h.leaseStart(ctx, me), nil
}

func (h *held) remark(format string, args ...any) {
	if !h.g.json {
		h.g.remark(format, args...)
	}
}

// leaseStart is our time of the instant at which the claim was granted. A lead may
// have granted it before we asked, and its lease may have been renewed: the owner's
// clock tells.
func (h *held) leaseStart(ctx context.Context, me string) time.Time {
	asked := time.Now()
	cs, err := h.c.Claims(ctx, me)
	if err == nil && !cs.AtUTC.IsZero() {
		for i := range cs.Claims {
			if c := cs.Claims[i].Claim; c.ClaimID == h.claim.ClaimID {
				h.claim = c
				return asked.Add(-cs.AtUTC.Sub(c.GrantedAtUTC))
			}
		}
	}
	h.log.Warn("the owner does not tell its clock, this machine's has to do", "claim", h.claim.ClaimID, "error", err)
	return h.claim.GrantedAtUTC.Std()
}

// run is the command under the lease, and what is to be done behind it.
func (h *held) run(ctx context.Context, from time.Time) error {
	life := context.WithoutCancel(ctx)
	lease, keeper := h.c.Keep(life, client.KeepOptions{Claim: h.claim, GrantedFrom: from})
	defer keeper.Stop()
	run, end := context.WithCancelCause(life)
	defer end(nil)
	unlease := context.AfterFunc(lease, func() { end(context.Cause(lease)) })
	defer unlease()
	uncatch := context.AfterFunc(h.signals.ctx, func() { end(context.Cause(h.signals.ctx)) })
	defer uncatch()
	watching, stopWatching := context.WithCancel(run)
	defer stopWatching()
	watched := make(chan *claimEnd, 1)
	go func() { watched <- h.watch(watching, end, unlease) }()
	reporting, stopReporting := context.WithCancel(run)
	defer stopReporting()
	reported := make(chan struct{})
	go func() { defer close(reported); h.report(reporting) }()

	h.begin = time.Now()
	o := &outcomeOfRun{}
	if run.Err() == nil {
		o.state, o.startErr = h.program().Run(run)
	}
	stopReporting()
	<-reported
	o.cause = context.Cause(run) // nil while the claim stands and nobody interrupts
	stopWatching()
	o.ended = <-watched
	return h.finish(life, lease, o)
}

// program is the command as it is run.
func (h *held) program() *acmp.Program {
	stdout, stderr := h.g.sys.Stdout, h.g.sys.Stderr
	if h.g.json {
		stdout = stderr
	}
	p := &acmp.Program{
		Argv: h.argv, Env: h.environment(), StopGrace: runGrace, Watchdog: watchdogArgv(), Log: h.log,
		Stdout: h.out.measure(stdout), Stderr: h.out.measure(stderr),
	}
	if in, ok := h.g.sys.Stdin.(*os.File); ok && !term.IsTerminal(in.Fd()) {
		p.Stdin = in
	}
	return p
}

// environment is ours and what lets signalbox in the command be the same worker.
func (h *held) environment() []string {
	env := append(os.Environ(), "SIGNALBOX_WORK_ITEM="+h.item, "SIGNALBOX_CLAIM="+h.claim.ClaimID)
	if h.g.server != "" {
		env = append(env, "SIGNALBOX_SERVER="+h.g.server)
	}
	if h.g.tokenFile != "" {
		path := h.g.tokenFile
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		env = append(env, "SIGNALBOX_TOKEN_FILE="+path)
	}
	return env
}

// called is the command in words: its name, for its arguments are the worker's own.
func (h *held) called() string { return text.Clip(text.ID(filepath.Base(h.argv[0])), 40) }

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// errSettled ends a command that goes on long after it completed or released its own
// item.
var errSettled = errors.New("the command completed or released the item itself and did not end")

// exitWords is how the command ended.
func exitWords(state *os.ProcessState) string {
	if code := state.ExitCode(); code >= 0 {
		return fmt.Sprintf("exit status %d", code)
	}
	return "ended by a " + strings.TrimSpace(state.String())
}
