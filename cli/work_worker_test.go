package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signalbox/model/acop"
)

// workerDocs are work for anybody, for one agent, and with something to prove.
const workerDocs = `
work_item_id: work:free
work_kind: implement
title: For whoever comes first
---
work_item_id: work:mine
work_kind: review
title: For jay
target_agent_uid: agent:jay
---
work_item:
  work_item_id: work:proof
  work_kind: repair
  title: Wants evidence
  participant_agent_uids: [agent:jay, agent:owl]
validation_requirements:
  - {requirement_id: r1, kind: test, summary: pay tests pass}
  - {requirement_id: r2, kind: lint, summary: no warnings}
`

// workerRig is an owner with work and two workers that have only a shell.
type workerRig struct {
	*workRig
	jay, owl string // token files
}

func newWorkerRig(t *testing.T) *workerRig {
	t.Helper()
	r := &workerRig{workRig: newWorkRig(t)}
	r.jay, r.owl = r.as("agent:jay", acop.RoleWorker), r.as("agent:owl", acop.RoleWorker)
	r.must(workerDocs, "put", "-")
	return r
}

// by runs a work command with the token in file.
func (r *workerRig) by(token string, args ...string) ran {
	r.t.Helper()
	return r.work("", append([]string{"--token-file", token}, args...)...)
}

// does demands success and that stdout has all of the words.
func (r *workerRig) does(token, args string, words ...string) string {
	r.t.Helper()
	got := r.by(token, strings.Fields(args)...)
	if got.code != exitOK {
		r.t.Fatalf("work %s: exit %d, stderr %s", args, got.code, got.stderr)
	}
	for _, word := range words {
		if !strings.Contains(got.stdout, word) {
			r.t.Errorf("work %s lacks %q: %s", args, word, got.stdout)
		}
	}
	return got.stdout
}

// fails demands the exit code and one line on stderr with all of the words.
func (r *workerRig) fails(token string, code int, args string, words ...string) {
	r.t.Helper()
	got := r.by(token, strings.Fields(args)...)
	if got.code != code || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
		r.t.Fatalf("work %s: exit %d, want %d; stdout %q, stderr %q", args, got.code, code, got.stdout, got.stderr)
	}
	for _, word := range words {
		if !strings.Contains(got.stderr, word) {
			r.t.Errorf("work %s lacks %q: %s", args, word, got.stderr)
		}
	}
}

func (r *workerRig) detail(id string) *acop.Detail {
	r.t.Helper()
	var d acop.Detail
	if err := json.Unmarshal([]byte(r.must("", "show", id, "--json")), &d); err != nil {
		r.t.Fatal(err)
	}
	return &d
}

// What only a lead may decide is refused with that reason, whether there is something
// to decide or not.
func TestWorkerDoesNotLead(t *testing.T) {
	t.Parallel()
	r := newWorkerRig(t)
	before := r.detail("work:free").Revision
	for _, args := range []string{
		"grant work:free", "grant work:free --to agent:owl", "grant work:free --to agent:jay --ttl 5m",
		"deny work:free --reason x", "revoke work:free --reason x",
	} {
		r.fails(r.jay, exitFailed, args, "only a lead or an orchestrator does this", "agent:jay", "worker", "[forbidden]")
	}
	if d := r.detail("work:free"); d.Item.Status() != acop.StatusReady || d.Revision != before {
		t.Errorf("refused acts left it %s at %d, before at %d", d.Item.Status(), d.Revision, before)
	}
}

// A worker with nothing but a shell and its token goes once around the contract
// (C-030, C-047, C-058, C-063, C-065, C-067).
func TestWorkerRound(t *testing.T) {
	t.Parallel()
	r := newWorkerRig(t)
	r.does(r.jay, "pickup", "work:free", "for anybody", "work:mine", "meant for you", "work:proof", "you take part")
	if out := r.does(r.owl, "ready", "work:free", "work:proof"); strings.Contains(out, "work:mine") {
		t.Errorf("another's work is offered: %s", out)
	}
	r.does(r.jay, "claim work:proof --ttl 5m", "claimed work:proof: claimed by agent:jay until")
	if l := r.detail("work:proof").Item.Lease; l == nil || l.TTLSeconds != 300 {
		t.Errorf("the lease is %+v", l)
	}
	r.does(r.jay, "heartbeat work:proof --note halfway", "noted on work:proof: in_progress")
	before := r.detail("work:proof").Item.Lease
	if before.Progress != "halfway" || before.Renewals != 0 || !before.Claim.ExpiresAtUTC.Equal(r.detail("work:proof").Claims[0].ExpiresAtUTC) {
		t.Errorf("after a heartbeat: %+v", before)
	}
	r.does(r.jay, "renew work:proof --ttl 1h", "renewed work:proof: in_progress")
	if l := r.detail("work:proof").Item.Lease; l.Renewals != 1 || !before.Claim.ExpiresAtUTC.Before(l.Claim.ExpiresAtUTC) {
		t.Errorf("after a renewal: %+v", l)
	}
	r.fails(r.jay, exitFailed, "complete work:proof --evidence validation=r1", "r2", "no warnings", "validation_required")
	if d := r.detail("work:proof"); d.Item.Status() != acop.StatusInProgress || d.Item.Holder() != "agent:jay" {
		t.Errorf("a refused completion left it %s, held by %q", d.Item.Status(), d.Item.Holder())
	}
	r.does(r.jay, "complete work:proof --evidence validation=r1 --evidence validation=r2 --evidence artifact=art:1 --summary cards-charged-once", "completed work:proof: completed")
	d := r.detail("work:proof")
	if c := d.Item.Completion; c == nil || c.CompletedBy != "agent:jay" || strings.Join(c.Evidence.ArtifactIDs, " ") != "art:1" {
		t.Errorf("the completion is %+v", c)
	}
	if len(d.Entries) != 1 || d.Entries[0].Entry.Summary != "cards-charged-once" {
		t.Errorf("the blackboard has %+v", d.Entries)
	}
	first := ""
	for range 2 {
		r.does(r.jay, "claim work:free")
		id := r.detail("work:free").Item.Lease.Claim.ClaimID
		if id == first {
			t.Errorf("claim %s was given twice", id)
		}
		first = id
		if out := r.does(r.jay, "release work:free --reason no-key --json"); !json.Valid([]byte(out)) || !strings.Contains(out, `"released"`) {
			t.Errorf("release: %s", out)
		}
	}
}

// Every refusal is one line that says who holds it or what became of the claim, and
// what to do.
func TestWorkerRefusals(t *testing.T) {
	t.Parallel()
	r := newWorkerRig(t)
	r.does(r.jay, "claim work:free")
	r.fails(r.jay, exitFailed, "claim work:free", "you hold it already, until", "work release")
	r.fails(r.owl, exitFailed, "claim work:free", "agent:jay, until", "also ready: work:proof", "claim_conflict")
	for _, act := range []string{"renew work:free", "heartbeat work:free --note x", "release work:free --reason x", "complete work:free"} {
		r.fails(r.owl, exitFailed, act, "agent:jay, until", "claim_conflict")
		r.fails(r.lead, exitUsage, act, "only a worker", "lead-01", "--token-file", "signalbox token add NAME --role worker")
		r.fails(r.jay, exitUsage, act+" --read-only", "--read-only")
		r.fails(r.jay, exitFailed, strings.Replace(act, "free", "proof", 1), "you do not hold it; it is ready", "work claim")
		r.fails(r.jay, exitFailed, strings.Replace(act, "free", "nope", 1), "work_item_not_found")
	}
	r.fails(r.lead, exitUsage, "pickup", "only a worker")
	r.fails(r.lead, exitUsage, "claim work:proof", "only a worker")
	r.fails(r.as("agent:maker", acop.RoleProducer), exitUsage, "claim work:proof", "agent:maker, whose role is producer")
	r.fails(r.jay, exitUsage, "heartbeat work:free", "--note is missing")
	r.fails(r.jay, exitUsage, "release work:free", "--reason is missing")
	r.fails(r.jay, exitUsage, "complete work:free --evidence r1", "validation=REQUIREMENT_ID", `"r1"`)
	r.fails(r.jay, exitUsage, "claim work:proof --ttl 10ms", "at least 1s")
	r.fails(r.jay, exitUsage, "renew work:free --ttl 10ms", "at least 1s")
	r.fails(r.jay, exitUsage, "pickup --limit 0", "--limit")
	r.must("", "revoke", "work:free", "--reason", "wrong branch")
	r.fails(r.jay, exitFailed, "renew work:free", "revoked by lead-01: wrong branch", "claim_revoked")
	r.does(r.jay, "claim work:free")
	r.must("", "cancel", "work:free", "--reason", "not needed")
	r.fails(r.jay, exitFailed, "heartbeat work:free --note x", "the item was cancelled by lead-01: not needed", "claim_revoked")
	r.fails(r.owl, exitFailed, "claim work:free", "work_item_cancelled", "also ready: work:proof")
	r.must("", "freeze", "--reason", "fire drill")
	r.fails(r.owl, exitFailed, "claim work:proof", "fire drill", "gate_blocked")
}

// A request that a lead must grant waits with --wait, and so does one for what
// another holds; a denied one does not.
func TestWorkerWaits(t *testing.T) {
	t.Parallel()
	r := newWorkerRig(t)
	r.must("", "settings", "--grant-mode", "lead")
	r.fails(r.owl, exitFailed, "claim work:proof", "gate_blocked", "--wait")
	r.must("", "deny", "work:proof", "--reason", "not you")
	r.fails(r.owl, exitFailed, "claim work:proof --wait", "not you")
	waiting := func(id, token string) <-chan ran {
		done := make(chan ran, 1)
		var stderr lockedBuffer
		go func() {
			var out lockedBuffer
			code := Run(t.Context(), []string{"work", "claim", id, "--wait", "--server", r.box.URL, "--token-file", token},
				Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr, Env: func(string) string { return "" }})
			done <- ran{code, out.String(), stderr.String()}
		}()
		waitUntil(t, "the claim to wait", func() bool { return strings.Contains(stderr.String(), "waiting") })
		return done
	}
	done := waiting("work:free", r.jay)
	r.must("", "grant", "work:free")
	if got := <-done; got.code != exitOK || !strings.Contains(got.stdout, "claimed work:free: claimed by agent:jay") {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
	r.must("", "settings", "--grant-mode", "auto")
	done = waiting("work:free", r.owl)
	r.does(r.jay, "release work:free --reason done-with-it")
	if got := <-done; got.code != exitOK || !strings.Contains(got.stdout, "claimed by agent:owl") || !strings.Contains(got.stderr, "agent:jay holds it") {
		t.Errorf("exit %d, %s%s", got.code, got.stdout, got.stderr)
	}
}

// A wait ends with its caller.
func TestWorkerWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	r := newWorkerRig(t)
	r.does(r.jay, "claim work:free")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"work", "claim", "work:free", "--wait", "--server", r.box.URL, "--token-file", r.owl},
			Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Env: func(string) string { return "" }})
	}()
	waitUntil(t, "the claim to wait", func() bool { return strings.Contains(out.String(), "agent:jay holds it") })
	stop()
	if code := <-done; code != exitInterrupted {
		t.Errorf("exit %d: %s", code, out.String())
	}
}
