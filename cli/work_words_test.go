package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"signalbox/model/text"
)

// TestWorkLeadActs goes through the acts that change an item without a worker,
// and the owner's settings (H-095, D.3).
func TestWorkLeadActs(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("work_item_id: a\nwork_kind: repair\n---\nwork_item_id: b\nwork_kind: repair\n---\nwork_item_id: c\nwork_kind: repair\n", "put", "-")
	says := func(want string, args ...string) {
		t.Helper()
		if out := r.must("", args...); !strings.Contains(out, want) {
			t.Errorf("work %v: %s, want %q", args, out, want)
		}
	}
	says("blocked a: blocked", "block", "a", "--summary", "which currency?", "--severity", "high")
	says("blocked by external_decision_pending (high): which currency?", "show", "a")
	says("unblocked a: ready", "unblock", "a", "--note", "euros")
	says("blocked b: blocked", "block", "b", "--depends-on", "a", "--summary", "needs a")
	says("waits for: a", "show", "b")
	says("superseded b: superseded", "supersede", "b", "--by", "c", "--reason", "same thing")
	says("superseded by  c", "show", "b")
	says("granted a", "grant", "a", "--to", "agent:owl")
	says("revoked the claim on a: released", "revoke", "a", "--reason", "later", "--hold")
	says("requeued a: ready", "requeue", "a")
	r.completeAs("agent:owl", "a")
	says("accepted a: accepted", "accept", "a")
	says("consumed a: consumed", "consume", "a", "--note", "merged")
	says("auto", "settings")
	says("lead", "settings", "--grant-mode", "lead", "--reason", "release week")
	says("yes, by lead-01: fire drill", "freeze", "--reason", "fire drill")
	says(`"frozen":true`, "settings", "--json")
	says("no", "unfreeze", "--reason", "over")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"block", "c"}, exitUsage, "--summary is missing"},
		{[]string{"block", "c", "--summary", "x", "--severity", "dire"}, exitUsage, "--severity must be"},
		{[]string{"supersede", "c"}, exitUsage, "--by is missing"},
		{[]string{"requeue", "c"}, exitFailed, "work_item_not_actionable"},
		{[]string{"consume", "c"}, exitFailed, "work_item_not_actionable"},
		{[]string{"unblock", "c"}, exitFailed, "it has no blocker"},
		{[]string{"grant", "c", "--to", "agent:x", "--reason", "y"}, exitUsage, "has not asked"},
		{[]string{"list", "--order", "random"}, exitUsage, "--order must be latest, score or priority"},
		{[]string{"events", "--family", "none"}, exitUsage, "the families are work_offer"},
		{[]string{"events", "--after", "-5"}, exitUsage, "--after needs a revision"},
		{[]string{"freeze"}, exitUsage, "--reason is missing"},
		{[]string{"freeze", "--reason", "x", "--read-only"}, exitUsage, "--read-only"},
		{[]string{"settings", "--grant-mode", "maybe"}, exitUsage, "--grant-mode must be auto, lead or rules"},
		{[]string{"unblock", "nope"}, exitFailed, "work_item_not_found"},
	} {
		got := r.work("", tt.args...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("work %v: exit %d, %q %q, want %d with %q", tt.args, got.code, got.stdout, got.stderr, tt.code, tt.want)
		}
	}
}

// TestListStaysNarrow: an id can be copied from its row into the next command; one that
// nobody could read does not widen every row, and --json has it whole.
func TestListStaysNarrow(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	long := "work:" + strings.Repeat("x", 5000) + ":end"
	doc, err := json.Marshal(map[string]any{"work_item_id": long, "work_kind": "repair", "title": strings.Repeat("t", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	copied := "task:release-4/accounts/accounts-that-were-closed/close-the-list"
	r.must(string(doc)+`{"work_item_id":"`+copied+`","work_kind":"repair","title":"short"}`, "put", "-")
	out := r.must("", "list")
	for line := range strings.Lines(out) {
		if w := text.Width(strings.TrimSuffix(line, "\n")); w > 380 {
			t.Errorf("a row is %d cells wide", w)
		}
	}
	if !strings.Contains(out, copied+" ") {
		t.Errorf("an id cannot be copied:\n%s", out)
	}
	if !strings.Contains(out, ":end") || !strings.Contains(out, "work:xxx") {
		t.Errorf("the ends of the id do not show:\n%s", out)
	}
	if out := r.must("", "list", "--json"); !strings.Contains(out, long) {
		t.Error("--json does not have the whole id")
	}
}

// TestWords: counts agree with their nouns and nothing stands empty.
func TestWords(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("work_item_id: a\nwork_kind: repair\n", "put", "-")
	if out := r.must("", "grant", "a", "--to", "agent:owl"); strings.Contains(out, "claim claim") {
		t.Errorf("grant: %s", out)
	}
	if out := r.must("", "show", "a"); !strings.Contains(out, "left, not renewed yet") || strings.Contains(out, "  a  \n") {
		t.Errorf("show: %s", out)
	}
	r.must("", "revoke", "a", "--reason", "x")
	r.completeAs("agent:jay", "a")
	if out := r.must("", "post", "a", "--summary", "x"); strings.Contains(out, "entry entry") {
		t.Errorf("post: %s", out)
	}
	show := r.must("", "show", "a")
	if strings.Contains(show, "artifacts:") || !strings.Contains(show, "completed by agent:jay") {
		t.Errorf("show: %s", show)
	}
	for line := range strings.Lines(show) {
		if line != strings.TrimRight(line, " \n")+"\n" {
			t.Errorf("a row ends in blanks: %q", line)
		}
	}
	for n, want := range map[int]string{0: "0 items", 1: "1 item", 2: "2 items"} {
		if got := plural(n, "item", "items"); got != want {
			t.Errorf("plural(%d) is %q, want %q", n, got, want)
		}
	}
	if got := withKind("claim", "claim:7f"); got != "claim:7f" {
		t.Errorf("withKind says %q", got)
	}
	if got := withKind("claim", "7f"); got != "claim 7f" {
		t.Errorf("withKind says %q", got)
	}
}
