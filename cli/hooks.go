package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"signalbox/model/fleet"
)

// The bounds of a hook: how long one may run, how many run at once, and how many
// asks may wait for a place. What comes beyond is not told, and the log says so: a
// slow hook cannot fill the machine.
const (
	hookTime  = 30 * time.Second
	hookLimit = 4
	hookLine  = 64
)

// hook runs a command of the person's for an ask.
type hook struct {
	command []string
	log     *slog.Logger
	line    chan struct{} // who waits or runs
	places  chan struct{} // who runs

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// newHook gives nil for no command.
func newHook(command []string, log *slog.Logger) *hook {
	if len(command) == 0 {
		return nil
	}
	return &hook{
		command: command, log: log,
		line: make(chan struct{}, hookLimit+hookLine), places: make(chan struct{}, hookLimit),
	}
}

// enter counts one more that runs, unless the hook is closed.
func (h *hook) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.running.Add(1)
	return true
}

// close waits until nothing runs and lets nothing begin. The contexts of what runs
// must have ended. A nil hook is closed.
func (h *hook) close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
}

// port is the hook as the dashboard calls it; nil for none.
func (h *hook) port() func(context.Context, fleet.Ask) {
	if h == nil {
		return nil
	}
	return h.run
}

// askJSON is an ask as a hook gets it. Texts are as they came: the hook must treat
// them as hostile.
type askJSON struct {
	Key        string    `json:"key"`
	Kind       string    `json:"kind"`
	Severity   string    `json:"severity"`
	Title      string    `json:"title"`
	Detail     string    `json:"detail,omitempty"`
	Who        string    `json:"who,omitempty"`
	Since      time.Time `json:"since"`
	Blocks     int       `json:"blocks"`
	IfIgnored  string    `json:"if_ignored,omitempty"`
	WorkItemID string    `json:"work_item_id,omitempty"`
	ClaimID    string    `json:"claim_id,omitempty"`
	TaskID     string    `json:"task_id,omitempty"`
	Provider   string    `json:"provider,omitempty"`
	Revision   uint64    `json:"revision,omitempty"`
}

// run gives the ask to the command and waits for it. What the command says goes
// nowhere: the terminal belongs to the dashboard. When ctx ends, the command and
// what it has started are killed.
func (h *hook) run(ctx context.Context, a fleet.Ask) {
	select {
	case h.line <- struct{}{}:
		defer func() { <-h.line }()
	default:
		h.log.Warn("an ask was not told to the hook: too many wait for it", "command", h.command[0], "kind", a.Kind, "ask", a.Key)
		return
	}
	if !h.enter() {
		return
	}
	defer h.running.Done()
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	case <-ctx.Done():
		return
	}
	in, err := json.Marshal(askJSON{
		Key: a.Key, Kind: string(a.Kind), Severity: a.Severity.String(), Title: a.Title, Detail: a.Detail,
		Who: a.Who, Since: a.Since.UTC(), Blocks: a.Blocks, IfIgnored: a.Consequence, WorkItemID: a.WorkItemID,
		ClaimID: a.ClaimID, TaskID: a.TaskID, Provider: a.Provider, Revision: a.Revision,
	})
	if err != nil {
		h.log.Error("an ask could not be told to the hook", "error", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.command[0], h.command[1:]...)
	cmd.Stdin = bytes.NewReader(append(in, '\n'))
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		h.log.Warn("the hook for an ask failed", "command", h.command[0], "kind", a.Kind, "error", err)
	}
}
