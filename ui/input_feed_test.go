//go:build unix

package ui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/acmp"
	"signalbox/ui/uitest"
)

// slowBuyer takes a minute for each piece of input.
type slowBuyer struct{ uitest.FakeBuyer }

func (b *slowBuyer) Input(ctx context.Context, taskID string, chunk acmp.Payload, final bool) error {
	select {
	case <-time.After(time.Minute):
		return b.FakeBuyer.Input(ctx, taskID, chunk, final)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A task that takes its input slowly holds the feeding back and does not end it;
// nothing of the file is lost, no character is cut.
func TestFeedingWaitsForASlowTask(t *testing.T) {
	name := filepath.Join(t.TempDir(), "input")
	want := strings.Repeat("zwölf Boxkämpfer 🥊 ", 6000)
	if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var b slowBuyer
		sent, err := feedFile(t.Context(), &b, "task_1", name)
		if err != nil || sent != int64(len(want)) || b.Fed() != want {
			t.Errorf("%d of %d bytes sent, %d arrived: %v", sent, len(want), len(b.Fed()), err)
		}
		if n := len(b.Calls()); n < 4 {
			t.Errorf("%d pieces", n)
		}
	})
}

// A file as one message must end: what has no length is refused, and so is what is
// too long.
func TestInputOfOneMessageIsBounded(t *testing.T) {
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe"), filepath.Join(dir, "long")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(long, make([]byte, inputLimit+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		pipe: "is no regular file; stream it instead", long: "holds more than 1048576 bytes; stream it instead",
		"/dev/zero": "is no regular file", filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := (taskInput{file: name, typ: "text"}).payload(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
