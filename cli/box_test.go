package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	client "signalbox/client/acop"
	"signalbox/model/acop"
)

// homeBox is the local box of a person of its own, seen on real terminals.
type homeBox struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) *homeBox {
	h := &homeBox{t: t, dir: t.TempDir()}
	t.Cleanup(func() {
		// What went on in the background ends with the test.
		if b, err := readBox(h.data()); err == nil && b.PID > 0 && b.PID != os.Getpid() {
			_ = signalPID(b.PID, syscall.SIGTERM)
			h.wait("the background to end", func() bool { return gone(b.PID) })
		}
	})
	return h
}

func (h *homeBox) data() string { return filepath.Join(h.dir, "signalbox", "box") }

// sit runs the dashboard in a shell with job control.
func (h *homeBox) sit(args ...string) *screen {
	h.t.Helper()
	return newScreen(h.t, 110, 30, []string{"XDG_STATE_HOME=" + h.dir, "XDG_CONFIG_HOME=" + h.dir, "TERM=xterm-256color", "PS1=$ "},
		shellJoin([]string{"sh", "-i", "-c", `echo $$ >"$0/shell"; "$@"; echo "exit code $?"; exec sh -i`, h.dir})+
			shellJoin(append([]string{binary(h.t)}, args...)))
}

func (h *homeBox) wait(what string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			h.t.Fatalf("waited 20 s for %s", what)
		}
		time.Sleep(20 * time.Millisecond) // polling processes, with a deadline
	}
}

// lead is a client with the box's own token.
func (h *homeBox) lead() *client.Client {
	h.t.Helper()
	b, err := readBox(h.data())
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := client.New(client.Options{BaseURL: b.URL, Token: fileToken(leadTokenFile(h.data()))})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

func (h *homeBox) do(act acop.Act) {
	h.t.Helper()
	if _, err := h.lead().Do(h.t.Context(), act); err != nil {
		h.t.Fatal(err)
	}
}

func (h *homeBox) put(id string) {
	h.t.Helper()
	h.do(acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: &acop.Document{
		ProtocolVersion: acop.ProtocolVersion,
		WorkItem: acop.WorkItem{WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement,
			CreatedAtUTC: acop.NewTime(time.Now()), Producer: localLead, Status: acop.StatusReady,
			Priority: acop.PriorityHigh, ActionabilityScore: 0.5, Title: "Title of " + id},
	}})
}

// Leaving a box with a live claim says what stops; kept going in the background
// it has the same address and the next dashboard finds everything.
func TestBoxGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	s := h.sit()
	s.waitText("NEEDS YOU", "local")
	first, err := readBox(h.data())
	if err != nil {
		t.Fatal(err)
	}
	h.put("work:a")
	h.do(acop.Act{Verb: acop.VerbClaim, WorkItemID: "work:a", Worker: "worker-1", TTLSeconds: 600, Scope: "all"})
	s.keys("2")
	s.waitText("worker-1")
	s.keys("q")
	s.waitText("1 claim is live", "this program carries the owner", "keep it going in the background")
	s.keys("b")
	s.waitText("exit code 0", "The box goes on in the background", "signalbox stop ends it")
	second, err := readBox(h.data())
	if err != nil || second.PID == first.PID || second.URL != first.URL {
		t.Fatalf("%v: it was %+v and is %+v", err, first, second)
	}
	if d, err := h.lead().Detail(t.Context(), "work:a"); err != nil || d.Item.Holder() != "worker-1" {
		t.Fatalf("%v %+v", err, d)
	}
	next := h.sit()
	next.waitText("NEEDS YOU")
	next.keys("2")
	next.waitText("work:a", "worker-1")
	// It only looks on: nothing stops when it leaves.
	next.keys("q")
	next.waitText("exit code 0")
	if b, err := readBox(h.data()); err != nil || b.PID != second.PID {
		t.Fatalf("%v %+v", err, b)
	}
}

// Several dashboards on one owner stay right: the second joins the first, and what
// one does the other shows.
func TestTwoDashboardsOnOneBox(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	one := h.sit()
	one.waitText("NEEDS YOU", "local")
	h.put("work:shared")
	two := h.sit()
	two.waitText("NEEDS YOU")
	for _, s := range []*screen{one, two} {
		s.keys("2")
		s.waitText("work:shared")
	}
	two.keys("x")
	two.waitText("Cancel work:shared")
	// The first one acts meanwhile; the second one's answer is then refused.
	one.keys("b")
	one.waitText("Block work:shared")
	one.keys("Enter")
	one.typed("waits for a word")
	one.keys("Enter")
	one.waitText("blocked")
	two.waitText("changed meanwhile")
	two.typed("no use")
	two.keys("Enter", "y")
	two.waitText("Look again")
	two.keys("Escape")
	two.waitText("Leave and lose")
	two.keys("y")
	two.waitFor("the dialog to close", func(shown string) bool { return !strings.Contains(shown, "Cancel work:shared") })
	if d, err := h.lead().Detail(t.Context(), "work:shared"); err != nil || d.Item.Status() != acop.StatusBlocked {
		t.Fatalf("%v %+v", err, d)
	}
	two.keys("q")
	two.waitText("exit code 0")
	one.keys("q")
	one.waitText("exit code 0")
}

// B94: $EDITOR has the terminal for itself, and what was written comes back into
// the form.
func TestEditorHasTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	editor := filepath.Join(h.dir, "editor")
	script := "#!/bin/sh\nif [ -t 0 ] && [ -t 1 ]; then echo a real terminal >\"$1\"; fi\nprintf 'press a key '\nread key\necho \"typed $key\" >>\"$1\"\n"
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, 110, 30, []string{"XDG_STATE_HOME=" + h.dir, "XDG_CONFIG_HOME=" + h.dir, "TERM=xterm-256color", "VISUAL=" + editor},
		shellJoin([]string{"sh", "-c", `"$@"; echo "exit code $?"; exec cat`, "sh", binary(t)}))
	s.waitText("NEEDS YOU", "local")
	h.put("work:a")
	s.keys("2")
	s.waitText("work:a")
	s.keys("e")
	s.waitText("press a key")
	s.typed("xyz\n")
	s.waitText("Post on work:a", "a real terminal", "typed xyz")
	s.keys("C-s")
	s.waitText("post work:a: done")
	s.keys("q")
	s.waitText("exit code 0")
}

// B88, B94: signals and ctrl+z leave the terminal as it was; fg brings the
// dashboard back.
func TestSignalsAndSuspend(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	pid := func() int {
		b, err := readBox(h.data())
		if err != nil {
			t.Fatal(err)
		}
		return b.PID
	}
	normal := func(s *screen, when string) {
		t.Helper()
		if modes := s.modes(); modes != "0 1 0" {
			t.Errorf("%s: the terminal was left as %q (alternate screen, cursor, mouse), want \"0 1 0\"", when, modes)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		s := h.sit()
		s.waitText("NEEDS YOU", "local")
		if err := signalPID(pid(), sig); err != nil {
			t.Fatal(err)
		}
		s.waitText(fmt.Sprintf("exit code %d", 128+int(sig)), "ended by a signal")
		normal(s, sig.String())
	}
	s := newScreen(t, 110, 30, []string{"XDG_STATE_HOME=" + h.dir, "XDG_CONFIG_HOME=" + h.dir, "TERM=xterm-256color", "PS1='$ '", "ENV="},
		shellJoin([]string{"bash", "--norc", "-i"}))
	s.typed(binary(t) + "; echo exit code $?\n")
	s.waitText("NEEDS YOU", "local")
	for range 2 {
		s.keys("C-z")
		s.waitText("Stopped")
		normal(s, "suspended")
		s.typed("fg\n")
		s.waitText("NEEDS YOU", "local")
		s.keys("2")
		s.waitText("Board")
		s.keys("1")
		s.waitText("NEEDS YOU")
	}
	s.keys("q")
	s.waitText("exit code")
	normal(s, "after quitting")
}

// B88, B91: however the window was resized before, a signal and ctrl+z leave no cell
// of the dashboard behind.
func TestNothingStaysBehindAfterAResize(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	clean := func(s *screen, when string) {
		t.Helper()
		if modes := s.modes(); modes != "0 1 0" {
			t.Errorf("%s: the terminal was left as %q", when, modes)
		}
		if shown := s.tmux("capture-pane", "-p", "-S", "-", "-t", "t"); strings.Contains(shown, "NEEDS YOU") || strings.Contains(shown, "──") {
			t.Errorf("%s: cells of the dashboard stayed:\n%s", when, shown)
		}
	}
	resize := func(s *screen) {
		for _, size := range [][2]string{{"60", "16"}, {"150", "45"}, {"90", "26"}, {"130", "40"}} {
			s.tmux("resize-window", "-t", "t", "-x", size[0], "-y", size[1])
			w, _ := strconv.Atoi(size[0])
			s.waitFor("the frame at "+size[0]+" columns", func(shown string) bool {
				for l := range strings.Lines(shown) {
					if utf8.RuneCountInString(strings.TrimRight(l, "\n")) == w {
						return true
					}
				}
				return strings.Contains(shown, "needs at least")
			})
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		s := h.sit()
		s.waitText("NEEDS YOU", "local")
		resize(s)
		b, err := readBox(h.data())
		if err != nil {
			t.Fatal(err)
		}
		if err := signalPID(b.PID, sig); err != nil {
			t.Fatal(err)
		}
		s.waitText(fmt.Sprintf("exit code %d", 128+int(sig)))
		clean(s, sig.String())
	}
	s := newScreen(t, 110, 30, []string{"XDG_STATE_HOME=" + h.dir, "XDG_CONFIG_HOME=" + h.dir, "TERM=xterm-256color", "PS1='$ '", "ENV="},
		shellJoin([]string{"bash", "--norc", "-i"}))
	s.typed(binary(t) + "; echo exit code $?\n")
	s.waitText("NEEDS YOU", "local")
	resize(s)
	s.keys("C-z")
	s.waitText("Stopped")
	clean(s, "suspended")
	s.typed("fg\n")
	s.waitText("NEEDS YOU", "local")
	resize(s)
	s.keys("q")
	s.waitFor("the shell's prompt", func(shown string) bool { return strings.HasSuffix(strings.TrimSpace(shown), "$ '") })
	clean(s, "after quitting")
}
