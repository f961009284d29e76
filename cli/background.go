package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// backgroundWait is how long a box that goes on in the background may take to
// answer.
const backgroundWait = 15 * time.Second

// keepGoing hands the local box, which this program has closed, to a process of
// its own: the same folder, the same address, so that workers and other
// dashboards find it again by themselves. It returns when that one answers.
func (g *globals) keepGoing(ctx context.Context, data, oldURL string) error {
	if err := makePrivateDir(g.stateDir()); err != nil {
		return failf(exitFailed, "%w", err)
	}
	logFile := filepath.Join(g.stateDir(), "box.log")
	err := g.detach(ctx, data, logFile, addressOf(oldURL))
	var taken *exec.ExitError
	if errors.As(err, &taken) {
		// Somebody took the port in between; any other serves as well.
		err = g.detach(ctx, data, logFile, "127.0.0.1:0")
	}
	if err != nil {
		return failf(exitFailed, "the box did not go on in the background: %w; see %s. Nothing is lost: start signalbox again", err, logFile)
	}
	_, err = fmt.Fprintln(g.sys.Stdout, "The box goes on in the background. Start signalbox again to see it; signalbox stop ends it.")
	return err
}

// detach starts `serve` in a session of its own and waits until it answers.
func (g *globals) detach(ctx context.Context, data, logFile, listen string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	// Not bound to ctx: it is to outlive this program.
	cmd := exec.Command(self, "serve", "--data", data, "--listen", listen)
	cmd.Dir = string(filepath.Separator) // keeps no folder busy
	cmd.Stdout, cmd.Stderr = out, out
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, backgroundWait)
	defer cancel()
	for {
		if b, err := readBox(data); err == nil && b.PID == cmd.Process.Pid && answers(ctx, b.URL) {
			return nil
		}
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("it ended at once")
			}
			return err
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			return errors.New("it did not answer in time")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// addressOf is host and port of an owner's URL.
func addressOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return "127.0.0.1:0"
	}
	return u.Host
}
