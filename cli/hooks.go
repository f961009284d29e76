package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"time"

	"signalbox/model/fleet"
)

// The bounds of a hook: how long one may run, and how many at once. Further asks
// wait for a place, so that a slow hook cannot fill the machine.
const (
	hookTime  = 30 * time.Second
	hookLimit = 4
)

// hook runs a command of the person's for an ask.
type hook struct {
	command []string
	log     *slog.Logger
	places  chan struct{}
}

// newHook gives nil for no command.
func newHook(command []string, log *slog.Logger) *hook {
	if len(command) == 0 {
		return nil
	}
	return &hook{command: command, log: log, places: make(chan struct{}, hookLimit)}
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
// nowhere: the terminal belongs to the dashboard.
func (h *hook) run(ctx context.Context, a fleet.Ask) {
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
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		h.log.Warn("the hook for an ask failed", "command", h.command[0], "kind", a.Kind, "error", err)
	}
}
