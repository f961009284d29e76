//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acop"
)

// putPaths makes a ready item that owns paths.
func (r *leadRig) putPaths(id, title string, paths ...string) {
	r.t.Helper()
	r.do(r.lead, acop.Act{Verb: acop.VerbPut, WorkItemID: id, Document: &acop.Document{
		ProtocolVersion: acop.ProtocolVersion,
		WorkItem: acop.WorkItem{
			WorkItemID: id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindImplement,
			CreatedAtUTC: acop.NewTime(time.Now()), Producer: "lead-01", Status: acop.StatusReady,
			Priority: acop.PriorityHigh, ActionabilityScore: 0.9, Title: title, OwnedPaths: paths,
		},
	}})
}

// completed makes an item that worker-1 has completed.
func (r *leadRig) completed(id, title string) {
	r.t.Helper()
	r.put(id, title, acop.StatusReady)
	r.do(r.worker, acop.Act{Verb: acop.VerbComplete, ClaimID: r.claim(id), Evidence: &acop.CompletionEvidence{ArtifactIDs: []string{"artifact:x"}}})
}

// TestThreeAsksAtARealTerminal: a decision, an acceptance and a grant wait when the
// lead sits down; each is settled by the key its row names and one more, with what to
// decide on before the eyes.
func TestThreeAsksAtARealTerminal(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := newLeadBox(t)
	r.completed("work:db:index", "Index the audit table")
	r.put("work:auth:rotate", "Rotate the signing keys", acop.StatusRequiresAttention)
	r.putPaths("work:http:seam", "Cut the seam", "server/http/seam.go")
	mode := acop.GrantLead
	r.do(r.lead, acop.Act{Verb: acop.VerbSettings, Settings: &acop.SettingsChange{GrantMode: &mode}})
	ctx, enough := context.WithTimeout(t.Context(), time.Second) // the request stays when the worker stops waiting
	_, err := r.worker.Do(ctx, acop.Act{Verb: acop.VerbClaim, WorkItemID: "work:http:seam", Worker: "worker-1", TTLSeconds: 600, Scope: "all"})
	enough()
	if err == nil {
		t.Fatal("granted without a lead")
	}
	r.sit(80, 24)
	s := r.screen
	answers := map[string]struct {
		key, id, before string
		then            acop.Status
	}{
		"decide": {"d", "work:auth:rotate", "Decide work:auth:rotate", acop.StatusReady},
		"accept": {"a", "work:db:index", "artifact:x", acop.StatusAccepted},
		"grant":  {"g", "work:http:seam", "worker-1", acop.StatusClaimed},
	}
	pressed := 0
	for left := 3; left > 0; left-- {
		shown := s.waitText(fmt.Sprintf("NEEDS YOU (%d)", left), "▌")
		var kind string
		for line := range strings.Lines(shown) {
			if _, row, selected := strings.Cut(line, "▌"); selected {
				kind = strings.Fields(row)[1] // behind the glyph
			}
		}
		answer, known := answers[kind]
		if !known {
			t.Fatalf("the cursor stands on the ask %q\n%s", kind, shown)
		}
		s.keys(answer.key)
		s.waitText(answer.before)
		s.keys("Enter")
		pressed += 2
		r.waitStatus(answer.id, answer.then)
		delete(answers, kind)
	}
	s.waitFor("no ask to be left", func(shown string) bool { return !strings.Contains(shown, "NEEDS YOU (1)") })
	if d, err := r.lead.Detail(t.Context(), "work:http:seam"); err != nil {
		t.Error(err)
	} else if d.Item.Holder() != "worker-1" {
		t.Errorf("the seam is held by %q, want worker-1", d.Item.Holder())
	}
	if pressed > 6 {
		t.Errorf("three asks took %d keystrokes, want at most 6", pressed)
	}
}

// TestLeadWorksThroughTheDay is the longer sitting at the real binary on a real
// terminal: grant with an overlap, send back, bulk accept, post, freeze,
// palette, export, a task fed while it runs, and the cancel of a provider that
// does not answer.
func TestLeadWorksThroughTheDay(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	r := newLeadRig(t, 130, 40)
	s := r.screen
	r.putPaths("work:http:pool", "Pool connections", "server/http/**")
	r.claim("work:http:pool")
	r.putPaths("work:http:seam", "Cut the seam", "server/http/seam.go")
	r.completed("work:db:index", "Index the audit table")
	r.completed("work:done:one", "First of two")
	r.completed("work:done:two", "Second of two")
	s.waitText("NEEDS YOU", "lead-01", "accept")
	s.keys("2")

	r.step("grant over an overlap, with a reason", func() {
		r.filter("seam")
		s.keys("g")
		s.waitText("Grant work:http:seam", "overlap", "lease")
		s.typed("worker-1")
		s.keys("Enter") // an overlap asks for the reason as well
		s.typed("the pool is nearly done")
		s.keys("Enter")
		r.waitStatus("work:http:seam", acop.StatusClaimed)
	})
	r.step("send back what is not good enough", func() {
		r.filter("index")
		s.keys("s")
		s.waitText("Send back work:db:index")
		s.typed("no query plan")
		s.keys("Enter", "y")
		r.waitStatus("work:db:index", acop.StatusSuperseded)
	})
	r.step("accept several together", func() {
		r.filter("of two")
		s.waitText("First of two", "Second of two")
		s.keys("*")
		s.waitText("2 rows marked")
		s.keys("a")
		s.waitText("Accept 2 items", "work:done:one", "work:done:two")
		s.keys("y")
		s.waitText("accept: 2 of 2 done")
		r.waitStatus("work:done:one", acop.StatusAccepted)
		r.waitStatus("work:done:two", acop.StatusAccepted)
	})
	r.step("post a decision", func() {
		r.filter("pool")
		s.keys("p")
		s.waitText("Post on work:http:pool", "ctrl+s post")
		s.keys("Enter")
		s.typed("both pools stay")
		s.keys("C-s")
		s.waitText("post work:http:pool: done")
	})
	r.step("freeze and let go on", func() {
		s.keys("F")
		s.waitText("Freeze all grants")
		s.typed("release")
		s.keys("Enter")
		s.waitText("FROZEN")
		s.keys("F")
		s.waitText("Let grants go on", "release")
		s.keys("C-s")
		s.waitFor("the badge to go", func(shown string) bool { return !strings.Contains(shown, "FROZEN") })
	})
	r.step("go by the palette and export the log", func() {
		s.keys(":")
		s.waitText("Commands")
		s.typed("log")
		s.keys("Enter")
		s.waitText("─ Log")
		s.keys("E")
		s.waitText("saved to")
		files, err := filepath.Glob(filepath.Join(r.dir, "state", "signalbox", "exports", "*"))
		if err != nil || len(files) != 1 {
			r.t.Fatalf("%v %v", files, err)
		}
		if raw, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(raw), "work:http:seam") {
			r.t.Fatalf("%v\n%s", err, raw)
		}
	})
	r.step("feed a task while it runs", func() {
		s.keys("i")
		s.waitText("Invoke", "echo")
		s.keys("Down", "Enter", "Tab", "Tab", "Right")
		s.waitText("[as it runs]")
		s.keys("C-s")
		s.waitText("─ Tasks", "echo")
		s.keys("I")
		s.waitText("Input for echo")
		s.typed("said from the dashboard")
		s.keys("Enter")
		s.waitText("input sent to")
		s.keys("E")
		s.waitText("completed", "said from the dashboard")
	})
	r.step("cancel a task whose provider is silent", func() {
		s.keys("i")
		s.waitText("Invoke", "ticker")
		s.keys("Up", "Enter", "Tab", "Tab", "Left", "C-s")
		s.waitText("tick number 3")
		if err := r.provider.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			r.t.Fatal(err)
		}
		s.keys("x")
		s.waitText("Cancel task")
		s.keys("Enter", "y")
		s.waitText("cancel     requested", "provider did not acknowledge")
		if err := r.provider.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			r.t.Fatal(err)
		}
	})
	r.step("leave", func() {
		s.keys("q")
		s.waitText("exit code 0")
	})
}
