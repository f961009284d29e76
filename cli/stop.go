package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	client "signalbox/client/acop"
	"signalbox/model/text"
	"signalbox/server/store"
)

// stopWait bounds how long an owner may take to end; it may finish what runs for
// ownerFinish.
const stopWait = ownerFinish + 12*time.Second

// noteWait is how long an owner may take to say what it is: it holds its folder
// already while it reads its log, and still while it finishes what runs.
const noteWait = ownerFinish + 2*time.Second

// stopLook bounds the look at what an owner holds before it is stopped.
const stopLook = 3 * time.Second

func newStopCommand(g *globals) *cobra.Command {
	var data string
	var force bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the box that goes on in the background",
		Long: "Stop the owner of the local box, such as one that was left to go on in the background,\n" +
			"and say what stops with it. Nothing is lost: work items, claims and entries are there at\n" +
			"the next start. Leases run on meanwhile, so a worker that cannot renew in time loses its\n" +
			"claim.\n\n" +
			"It ends with 0 when the owner has stopped and when none runs, with 1 when it cannot be\n" +
			"stopped. A dashboard that carries the owner is left alone, for somebody may sit at it.",
		Example: "  signalbox stop\n  signalbox stop --data ./box --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				data = g.localData()
			} else if info, err := os.Stat(data); err != nil || !info.IsDir() {
				return failf(exitUsage, "--data %s: there is no such folder", text.Line(data))
			}
			return g.stop(cmd.Context(), data, force)
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "folder of the owner's state (default: the local box's)")
	cmd.Flags().BoolVar(&force, "force", false, "stop a dashboard that carries the owner as well; its screen closes")
	return cmd
}

// stopped is what became of an owner that was to stop.
type stopped struct {
	Event string `json:"event"` // stopped or not_running
	Data  string `json:"data"`
	PID   int    `json:"pid,omitempty"`
	URL   string `json:"url,omitempty"`
	// LiveClaims is left out where the owner could not be asked.
	LiveClaims *int `json:"live_claims,omitempty"`
}

func (g *globals) stop(ctx context.Context, data string, force bool) error {
	if abs, err := filepath.Abs(data); err == nil {
		data = abs
	}
	log := filepath.Join(data, "log")
	pid, note, err := whoHolds(ctx, data, log, force)
	switch {
	case ctx.Err() != nil:
		return failf(exitInterrupted, "")
	case err != nil:
		return failf(exitFailed, "%w", err)
	case pid == 0:
		return g.printStopped(stopped{Event: "not_running", Data: data})
	case note.PID == 0 && !force:
		return failf(exitFailed, "process %d has %s open and does not say whether somebody sits at it; try again in a moment, or stop it all the same with --force", pid, data)
	case note.Dashboard && !force:
		return failf(exitFailed, "the dashboard in process %d carries this box; leave it with q, or close it from here with --force", pid)
	}
	done := stopped{Event: "stopped", Data: data, PID: pid, URL: note.URL, LiveClaims: liveClaims(ctx, data, note.URL)}
	if err := g.sayStopping(done); err != nil {
		return err
	}
	if err := endOwner(ctx, log, pid); err != nil {
		return err
	}
	return g.printStopped(done)
}

// whoHolds is the process that has the folder open, 0 for none, and what it says of
// itself. One that opens or closes the box has not said anything yet or any more: it is
// waited for, but not with force.
func whoHolds(ctx context.Context, data, log string, force bool) (pid int, note box, err error) {
	for deadline := time.Now().Add(noteWait); ; {
		pid, held, err := store.Holder(log)
		if err != nil || !held {
			return 0, box{}, err
		}
		note, err := readBox(data)
		if err != nil || note.PID != pid {
			note = box{} // of another time; the lock tells the truth
		}
		late := time.Now().After(deadline)
		switch {
		case pid == 0 && late:
			return 0, box{}, fmt.Errorf("a process has %s open and does not say which it is; end it by hand", data)
		case pid != 0 && (note.PID != 0 || force || late):
			return pid, note, nil
		}
		select {
		case <-ctx.Done():
			return 0, box{}, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// liveClaims asks the owner how many claims are live; nil when it does not say.
func liveClaims(ctx context.Context, data, base string) *int {
	if base == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopLook)
	defer cancel()
	c, err := client.New(client.Options{BaseURL: base, Token: fileToken(leadTokenFile(data))})
	if err != nil {
		return nil
	}
	defer c.Close()
	snap, err := c.Snapshot(ctx)
	if err != nil {
		return nil
	}
	n := 0
	for _, it := range snap.Items {
		if it.Status().Held() {
			n++
		}
	}
	return &n
}

// endOwner asks the process to end and waits until it has let go of its log.
func endOwner(ctx context.Context, log string, pid int) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = askToEnd(p)
	}
	switch {
	case errors.Is(err, os.ErrProcessDone): // in the same moment
	case errors.Is(err, os.ErrPermission):
		return failf(exitFailed, "process %d belongs to another user, who alone may stop it", pid)
	case err != nil:
		return failf(exitFailed, "process %d cannot be asked to stop: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	for {
		if now, held, err := store.Holder(log); err == nil && (!held || now != pid) {
			return nil
		}
		select {
		case <-ctx.Done():
			return failf(exitFailed, "process %d was asked to stop and has not ended yet; look again, or end it by hand: its log bears that", pid)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// sayStopping tells a person what is about to stop; with --json the result says it.
func (g *globals) sayStopping(s stopped) error {
	if g.json {
		return nil
	}
	at := ""
	if s.URL != "" {
		at = ", which serves " + strings.TrimSuffix(s.URL, "acop/v1/")
	}
	_, err := fmt.Fprintf(g.sys.Stdout, "Stopping process %d%s.\n", s.PID, at)
	if err == nil && s.LiveClaims != nil && *s.LiveClaims > 0 {
		_, err = fmt.Fprintf(g.sys.Stdout, "%s live: the leases run on, and no worker can renew until the next start.\n",
			plural(*s.LiveClaims, "claim is", "claims are"))
	}
	return err
}

func (g *globals) printStopped(s stopped) error {
	if g.json {
		return json.NewEncoder(g.sys.Stdout).Encode(s)
	}
	text := "Stopped. Everything is kept; start signalbox again to go on."
	if s.Event == "not_running" {
		text = "Nothing to stop: no owner runs on " + s.Data + "."
	}
	_, err := fmt.Fprintln(g.sys.Stdout, text)
	return err
}
