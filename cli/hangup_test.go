//go:build unix

package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestHangUpsAreSorted: SIGHUP of a terminal that closed is the end; any other asks for
// the files to be read again, also where the terminal went away long before.
func TestHangUpsAreSorted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		attached, goneBefore, goneLong bool
		ends                           bool
	}{
		"the terminal is there":       {attached: true},
		"it closed just now":          {attached: true, goneBefore: true, ends: true},
		"it closed long ago":          {attached: true, goneBefore: true, goneLong: true},
		"never had one, or was nohup": {goneBefore: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var there atomic.Bool
			there.Store(true)
			h := &hangUps{reload: make(chan struct{}, 1), closed: make(chan struct{}), sig: make(chan os.Signal, 1)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go h.watch(ctx, tt.attached, there.Load)
			time.Sleep(5*terminalLook + terminalLook/2)
			there.Store(!tt.goneBefore)
			if tt.goneLong {
				time.Sleep((terminalGone + 1) * terminalLook)
			}
			h.sig <- syscall.SIGHUP
			synctest.Wait()
			ended, reloaded := false, false
			select {
			case <-h.closed:
				ended = true
			default:
			}
			select {
			case <-h.reload:
				reloaded = true
			default:
			}
			if ended != tt.ends || reloaded == tt.ends {
				t.Errorf("%s: ends %t, reads again %t", name, ended, reloaded)
			}
		})
	}
}

// TestServeEndsWithItsTerminal: an owner in a terminal reads its files again at SIGHUP,
// ends in good order when the terminal is closed, and outlives it under nohup.
func TestServeEndsWithItsTerminal(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	for name, before := range map[string]string{"plain": "", "nohup": "nohup "} {
		dir := t.TempDir()
		data, log := filepath.Join(dir, "box"), filepath.Join(dir, "log")
		said := func() int {
			raw, _ := os.ReadFile(log)
			return strings.Count(string(raw), "tokens reloaded")
		}
		s := newScreen(t, 80, 24, nil, before+shellJoin([]string{binary(t), "serve", "--data", data, "--listen", "127.0.0.1:0"})+" >/dev/null 2>"+shellJoin([]string{log}))
		var b box
		soon(t, name+": the owner answers", func() (ok bool) {
			var err error
			b, err = readBox(data)
			return err == nil && answers(t.Context(), b.URL)
		})
		t.Cleanup(func() { _ = syscall.Kill(b.PID, syscall.SIGKILL) })
		hangUp := func() {
			if err := syscall.Kill(b.PID, syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		}
		hangUp()
		soon(t, name+": the tokens are read again", func() bool { return said() == 1 })
		s.tmux("kill-server")
		if before == "" {
			soon(t, "the owner ends with its terminal", func() bool {
				_, err := os.Stat(filepath.Join(data, boxFile))
				return os.IsNotExist(err)
			})
			continue
		}
		hangUp() // meant for it now
		soon(t, "the owner goes on under nohup", func() bool { return said() > 1 && answers(t.Context(), b.URL) })
	}
}

// TestReloadedIsSaidWhereItIsSo: a look that finds the same list says nothing.
func TestReloadedIsSaidWhereItIsSo(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "tokens.yaml")
	add := func(who string) {
		if got := runWith(t.Context(), "", map[string]string{"XDG_STATE_HOME": t.TempDir()}, "token", "add", who, "--role", "worker", "--tokens", list); got.code != exitOK {
			t.Fatal(got.stderr)
		}
	}
	add("one")
	var log strings.Builder
	tokens, err := loadTokens(list)
	if err != nil {
		t.Fatal(err)
	}
	b := &ownerBox{tokens: tokens, list: list, log: slog.New(slog.NewTextHandler(&log, nil))}
	for i, want := range []int{0, 1, 2, 2} {
		switch i {
		case 1:
			b.Reload() // asked for
		case 2:
			add("two")
		}
		b.reloadTokens(false)
		if got := strings.Count(log.String(), "tokens reloaded"); got != want {
			t.Errorf("step %d: said %d times, want %d\n%s", i, got, want, log.String())
		}
	}
}
