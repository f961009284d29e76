//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"signalbox/model/acop"
)

// runRig is the real owner and the real program in front of it, with the tokens of a
// lead and two workers.
type runRig struct {
	t           *testing.T
	owner       *served
	data        string
	jay, owl    string // token files
	familyNotes string // where the deaf family notes its processes
}

func newRunRig(t *testing.T) *runRig {
	t.Helper()
	playsAtProcesses(t)
	r := &runRig{t: t, data: t.TempDir()}
	r.familyNotes = filepath.Join(t.TempDir(), "family")
	r.owner = startServe(t, r.data)
	r.jay, r.owl = r.token("jay"), r.token("owl")
	r.lead(t, `{"work_item_id":"work:a","work_kind":"implement","title":"A"}`, "put", "-")
	r.lead(t, `{"work_item":{"work_item_id":"work:proof","work_kind":"repair","title":"P"},"validation_requirements":[{"requirement_id":"r1","kind":"test","summary":"tests pass"}]}`, "put", "-")
	return r
}

func (r *runRig) token(name string) string {
	r.t.Helper()
	got := runWith(r.t.Context(), "", map[string]string{"XDG_STATE_HOME": r.t.TempDir()},
		"token", "add", name, "--role", "worker", "--tokens", filepath.Join(r.data, "tokens.yaml"))
	if got.code != exitOK {
		r.t.Fatalf("token add: %s", got.stderr)
	}
	path := filepath.Join(r.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(got.stdout), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// lead runs a work command as the lead and demands success.
func (r *runRig) lead(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	got := runWith(t.Context(), stdin, map[string]string{"XDG_STATE_HOME": t.TempDir()},
		append([]string{"work", "--server", r.owner.url, "--token-file", leadTokenFile(r.data)}, args...)...)
	if got.code != exitOK {
		t.Fatalf("work %v: exit %d, %s", args, got.code, got.stderr)
	}
	return got.stdout
}

func (r *runRig) detail(id string) *acop.Detail {
	r.t.Helper()
	var d acop.Detail
	if err := json.Unmarshal([]byte(r.lead(r.t, "", "show", id, "--json")), &d); err != nil {
		r.t.Fatal(err)
	}
	return &d
}

// running is one `signalbox work run`.
type running struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err lockedBuffer
	done     chan struct{}
}

// start starts `work run` as jay; args begin with the id of the item.
func (r *runRig) start(args ...string) *running { return r.startBy(nil, args...) }

// startBy starts it through another program.
func (r *runRig) startBy(by []string, args ...string) *running {
	r.t.Helper()
	u := &running{t: r.t, done: make(chan struct{})}
	argv := slices.Concat(by, []string{binary(r.t), "work", "run", "--server", r.owner.url, "--token-file", r.jay}, args)
	u.cmd = exec.Command(argv[0], argv[1:]...)
	u.cmd.Env = append(os.Environ(), "FAMILY="+r.familyNotes, "PATH="+filepath.Dir(binary(r.t))+":"+os.Getenv("PATH"),
		"XDG_STATE_HOME="+r.t.TempDir(), "XDG_CONFIG_HOME="+r.t.TempDir())
	u.cmd.Stdout, u.cmd.Stderr = &u.out, &u.err
	if err := u.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		_ = u.cmd.Wait() // its ProcessState tells
		close(u.done)
	}()
	r.t.Cleanup(func() { _ = u.cmd.Process.Kill(); <-u.done })
	return u
}

// ends waits for the end and demands the exit code and the words on stderr.
func (u *running) ends(code int, words ...string) {
	u.t.Helper()
	select {
	case <-u.done:
	case <-time.After(60 * time.Second):
		u.t.Fatalf("work run does not end: %s%s", u.out.String(), u.err.String())
	}
	if got := u.cmd.ProcessState.ExitCode(); got != code {
		u.t.Errorf("exit %d, want %d: %s", got, code, u.err.String())
	}
	for _, word := range words {
		if !strings.Contains(u.err.String(), word) {
			u.t.Errorf("stderr lacks %q: %s", word, u.err.String())
		}
	}
}

// deafFamily is a program that does not end when asked to, with a child, and with one
// that has left its group. Each notes its number.
const deafFamily = `trap "" TERM
echo $$ >>"$FAMILY"
sleep 421 & echo $! >>"$FAMILY"
setsid sh -c 'echo $$ >>"$FAMILY"; exec sleep 422 >/dev/null 2>&1 </dev/null' &
while :; do sleep 423 & wait $!; done`

// family waits until the deaf family is whole and gives its numbers.
func (r *runRig) family() (pids []int) {
	r.t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		r.t.Skip("setsid is not installed: a family that escapes cannot be made")
	}
	waitUntil(r.t, "the family to be whole", func() bool {
		raw, _ := os.ReadFile(r.familyNotes)
		return strings.Count(string(raw), "\n") == 3
	})
	raw, err := os.ReadFile(r.familyNotes)
	if err != nil {
		r.t.Fatal(err)
	}
	for f := range strings.FieldsSeq(string(raw)) {
		pid, err := strconv.Atoi(f)
		if err != nil || pid <= 1 || !processRuns(pid) {
			r.t.Fatalf("no process in %q", raw)
		}
		pids = append(pids, pid)
		r.t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // it may be gone
	}
	return pids
}

func (r *runRig) gone(pids []int) {
	r.t.Helper()
	for _, pid := range pids {
		waitUntil(r.t, fmt.Sprintf("process %d to be gone", pid), func() bool { return !processRuns(pid) })
	}
}

// A command that succeeds completes its item: output and environment are its own, the
// note says how long it took and what it said last.
func TestRunCompletes(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:proof", "--complete", "--", "true")
	u.ends(exitFailed, "r1", "tests pass", "validation_required")
	if d := r.detail("work:proof"); len(d.Claims) != 0 {
		t.Errorf("it was claimed before: %+v", d.Claims)
	}
	u = r.start("work:proof", "--complete", "--contents", "--evidence", "validation=r1", "--evidence", "artifact=art:1", "--",
		"sh", "-c", `echo "$SIGNALBOX_WORK_ITEM $SIGNALBOX_CLAIM"; echo warned >&2`)
	u.ends(exitOK, "warned", "work:proof is completed")
	d := r.detail("work:proof")
	if c := d.Item.Completion; c == nil || c.CompletedBy != "jay" || fmt.Sprint(c.Evidence) != "{[r1] [art:1]}" {
		t.Fatalf("the completion is %+v", c)
	}
	if want := "work:proof " + d.Claims[0].ClaimID + "\n"; u.out.String() != want {
		t.Errorf("stdout is %q, want %q", u.out.String(), want)
	}
	if len(d.Entries) != 1 || !strings.HasPrefix(d.Entries[0].Entry.Summary, "sh: exit status 0 after ") || d.Entries[0].Entry.Details == "" {
		t.Errorf("the note is %+v", d.Entries)
	}
}

// Without --complete the item stays held, for the worker to say that it is done; the
// heartbeats tell of lines, not of what stands in them.
func TestRunHoldsOn(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:a", "--json", "--", "sh", "-c", "echo SECRET; echo more")
	u.ends(exitOK, "SECRET\nmore\n")
	var res runResult
	if err := json.Unmarshal([]byte(u.out.String()), &res); err != nil || res.Outcome != runHeld || res.ExitStatus != 0 || res.Lines != 2 {
		t.Errorf("%v: %q", err, u.out.String())
	}
	d := r.detail("work:a")
	if d.Item.Holder() != "jay" || d.Item.Status() != acop.StatusInProgress {
		t.Errorf("it is %s, held by %q", d.Item.Status(), d.Item.Holder())
	}
	if raw, err := json.Marshal(d); err != nil || strings.Contains(string(raw), "SECRET") {
		t.Errorf("%v: what the command printed was told: %s", err, raw)
	}
	r.start("work:a", "--", "true").ends(exitFailed, "you hold it already")
	r.start("work:a", "--resume", "--complete", "--", "true").ends(exitOK, "work:a is completed")
	r.start("work:a", "--resume", "--", "true").ends(exitFailed, "completed by jay")
}

// A command that fails gives its item back with the reason, also if it was never
// there; what cannot be asked for changes nothing.
func TestRunFails(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	r.start("work:a", "--", "no-such-program").ends(exitUsage, "no-such-program cannot be run")
	r.start("work:a", "true").ends(exitUsage, "behind the two dashes")
	r.start("work:a", "sh", "-c", "true").ends(exitUsage, "behind two dashes")
	r.start("work:a", "--evidence", "validation=r1", "--", "true").ends(exitUsage, "--evidence goes with --complete")
	if d := r.detail("work:a"); len(d.Claims) != 0 {
		t.Fatalf("it was claimed: %+v", d.Claims)
	}
	r.start("work:a", "--complete", "--", "sh", "-c", "exit 3").ends(exitFailed, "exit status 3", "work:a is released")
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("\x7fELF no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.start("work:a", "--", bad).ends(exitUsage, "cannot be started", "work:a is released")
	d := r.detail("work:a")
	if d.Item.Status() != acop.StatusReady || len(d.Claims) != 2 || d.Claims[0].ClaimStatus != acop.ClaimReleased || d.Claims[1].ClaimStatus != acop.ClaimReleased {
		t.Errorf("it is %s after %+v", d.Item.Status(), d.Claims)
	}
	if show := r.lead(t, "", "show", "work:a"); !strings.Contains(show, "sh: exit status 3") {
		t.Errorf("the reason is not told: %s", show)
	}
}

// The command itself may finish its item.
func TestRunCommandCompletesItself(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:proof", "--", "sh", "-c",
		`signalbox work complete "$SIGNALBOX_WORK_ITEM" --evidence validation=r1 && echo last words`)
	u.ends(exitOK, "work:proof was completed by jay")
	if !strings.Contains(u.out.String(), "last words") || r.detail("work:proof").Item.Status() != acop.StatusCompleted {
		t.Errorf("stdout %q, status %s", u.out.String(), r.detail("work:proof").Item.Status())
	}
	r.start("work:a", "--", "sh", "-c", `signalbox work release "$SIGNALBOX_WORK_ITEM" --reason 'not mine'; exit 1`).
		ends(exitFailed, "exit status 1", "released by jay: not mine")
}

// A revoked claim stops the command and all it has started at once, not at the next
// renewal, though none of them heeds SIGTERM (D-32).
func TestRunStopsAtRevoke(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:a", "--ttl", "2h", "--", "sh", "-c", deafFamily)
	pids := r.family()
	r.lead(t, "", "revoke", "work:a", "--reason", "wrong branch")
	u.ends(exitFailed, "the lease is lost: revoked by lead-01: wrong branch", "sh was stopped")
	r.gone(pids)
	if d := r.detail("work:a"); d.Item.Status() != acop.StatusReady || d.Claims[0].ClaimStatus != acop.ClaimRevoked {
		t.Errorf("it is %s after %+v", d.Item.Status(), d.Claims)
	}
}

// A cancelled item stops the command as well, and says who cancelled it.
func TestRunStopsAtCancel(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:a", "--", "sleep", "600")
	waitUntil(t, "the claim", func() bool { return r.detail("work:a").Item.Status() == acop.StatusInProgress })
	r.lead(t, "", "cancel", "work:a", "--reason", "not needed")
	u.ends(exitFailed, "the item was cancelled by lead-01: not needed")
}

// B50: an owner that is away when the term ends has given the item to others; whether
// it is gone or does not answer, the command ends with its lease.
func TestRunEndsWithItsLeaseWhileTheOwnerIsAway(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"gone": syscall.SIGKILL, "silent": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			u := r.start("work:a", "--ttl", "8s", "--", "sh", "-c", deafFamily)
			pids := r.family()
			begin := time.Now()
			if err := r.owner.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			u.ends(exitFailed, "the lease is lost: the term ran out before a renewal was answered", "sh was stopped")
			r.gone(pids)
			// The term and the time to stop, and what a loaded machine needs besides.
			if took := time.Since(begin); took > 8*time.Second+runGrace+lookTime+10*time.Second {
				t.Errorf("only after %v", took)
			}
		})
	}
}

// B51: an owner that is away for less than the term costs nothing, and the outcome
// waits for it.
func TestRunOutlivesARestartOfTheOwner(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	open := filepath.Join(t.TempDir(), "open")
	u := r.start("work:a", "--ttl", "2m", "--complete", "--", "sh", "-c", "until [ -e "+open+" ]; do sleep 0.05; done")
	waitUntil(t, "the claim", func() bool { return r.detail("work:a").Item.Status() == acop.StatusInProgress })
	r.owner.stop(syscall.SIGKILL)
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(r.owner.url)
	if err != nil {
		t.Fatal(err)
	}
	r.owner = startServe(t, r.data, "--listen", at.Host)
	u.ends(exitOK, "work:a is completed")
	if d := r.detail("work:a"); d.Item.Status() != acop.StatusCompleted || len(d.Claims) != 1 {
		t.Errorf("it is %s after %+v", d.Item.Status(), d.Claims)
	}
}

// Another box in the owner's place, in which the token counts as well, knows nothing of the
// item: the claim does not stand there.
func TestRunEndsWhenAnotherOwnerTakesThePlace(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:a", "--ttl", "10m", "--", "sleep", "300")
	waitUntil(t, "the claim", func() bool { return r.detail("work:a").Item.Status() == acop.StatusInProgress })
	r.owner.stop(syscall.SIGKILL)
	at, err := url.Parse(r.owner.url)
	if err != nil {
		t.Fatal(err)
	}
	r.owner = startServe(t, t.TempDir(), "--listen", at.Host, "--tokens", filepath.Join(r.data, "tokens.yaml"))
	u.ends(exitFailed, "the lease is lost: the owner does not know the item any more", "sleep was stopped")
}

// A wait for an item outlives a restart of the owner too, and so does what it waits
// for.
func TestWaitOutlivesARestartOfTheOwner(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	jay := []string{"--server", r.owner.url, "--token-file", r.jay}
	if got := runWith(t.Context(), "", nil, append([]string{"work", "claim", "work:a"}, jay...)...); got.code != exitOK {
		t.Fatalf("claim: %s", got.stderr)
	}
	var out, errs lockedBuffer
	done := make(chan int, 1)
	go func() {
		done <- Run(t.Context(), []string{"work", "claim", "work:a", "--wait", "--server", r.owner.url, "--token-file", r.owl},
			Sys{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }})
	}()
	waitUntil(t, "the wait", func() bool { return strings.Contains(errs.String(), "jay holds it") })
	r.owner.stop(syscall.SIGKILL)
	waitUntil(t, "the wait to notice", func() bool { return strings.Contains(errs.String(), "the owner does not answer; waiting") })
	at, err := url.Parse(r.owner.url)
	if err != nil {
		t.Fatal(err)
	}
	r.owner = startServe(t, r.data, "--listen", at.Host)
	if got := runWith(t.Context(), "", nil, append([]string{"work", "release", "work:a", "--reason", "enough"}, jay...)...); got.code != exitOK {
		t.Fatalf("release: %s", got.stderr)
	}
	if code := <-done; code != exitOK || !strings.Contains(out.String(), "claimed by owl") {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
}

// kill -9 of work run leaves nothing of the command, and the lease ends by itself
// (B39, C-059).
func TestRunKilled(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	u := r.start("work:a", "--ttl", "6s", "--", "sh", "-c", deafFamily)
	pids := r.family()
	if err := u.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.gone(pids)
	got := runWith(t.Context(), "", map[string]string{"XDG_STATE_HOME": t.TempDir()},
		"work", "claim", "work:a", "--wait", "--server", r.owner.url, "--token-file", r.owl)
	if got.code != exitOK || !strings.Contains(got.stdout, "claimed by owl") {
		t.Errorf("exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if d := r.detail("work:a"); d.Claims[0].ClaimStatus != acop.ClaimExpired {
		t.Errorf("the first claim is %+v", d.Claims[0])
	}
}

// Whoever interrupts the run gets the item released and the exit code of the signal; a
// terminal that suspends does not, for the lease would end meanwhile.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: exitInterrupted, syscall.SIGTERM: 128 + 15, syscall.SIGHUP: 128 + 1} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			r := newRunRig(t)
			u := r.start("work:a", "--", "sleep", "600")
			waitUntil(t, "the claim", func() bool { return r.detail("work:a").Item.Status() == acop.StatusInProgress })
			if err := u.cmd.Process.Signal(syscall.SIGTSTP); err != nil {
				t.Fatal(err)
			}
			waitUntil(t, "the remark", func() bool { return strings.Contains(u.err.String(), "is not suspended") })
			if err := u.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			u.ends(code, "work:a is released")
			if d := r.detail("work:a"); d.Item.Status() != acop.StatusReady || d.Claims[0].ClaimStatus != acop.ClaimReleased {
				t.Errorf("it is %s after %+v", d.Item.Status(), d.Claims)
			}
		})
	}
}

// What was ignored when it began, as SIGHUP is under nohup, does not end it.
func TestRunUnderNohup(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	open := filepath.Join(t.TempDir(), "open")
	u := r.startBy([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, "work:a", "--complete", "--", "sh", "-c", "until [ -e "+open+" ]; do sleep 0.05; done")
	waitUntil(t, "the claim", func() bool { return r.detail("work:a").Item.Status() == acop.StatusInProgress })
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTSTP} {
		if err := u.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	// The second signal is answered, so that the first one has had its effect, if any.
	waitUntil(t, "the remark", func() bool { return strings.Contains(u.err.String(), "is not suspended") })
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.ends(exitOK, "work:a is completed")
}

// A reader that goes away does not cost the work.
func TestRunWithoutReader(t *testing.T) {
	t.Parallel()
	r := newRunRig(t)
	line := shellJoin([]string{binary(t), "work", "run", "work:a", "--complete", "--server", r.owner.url, "--token-file", r.jay, "--",
		"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"}) + "| head -n 1"
	out, err := exec.Command("sh", "-c", line).Output()
	if err != nil || string(out) != "line 0\n" {
		t.Errorf("%v: %q", err, out)
	}
	waitUntil(t, "the completion", func() bool { return r.detail("work:a").Item.Status() == acop.StatusCompleted })
}
