//go:build unix

package acmp

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"signalbox/model/acmp"
)

// withoutFolders runs f while this process can open one file and no second one: the
// folder that would have to be synced.
func withoutFolders(f func() error) error {
	probe, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	next := uint64(probe.Fd()) + 1
	probe.Close()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		return err
	}
	small := was
	small.Cur = next
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &small); err != nil {
		return err
	}
	err = f()
	if back := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); back != nil {
		return back
	}
	return err
}

// runUnsynced is the child's part of [TestFolderNotSynced]: it tells what became of
// each write, and holds what it has until its input ends.
func runUnsynced(dir string) {
	say := func(what string, err error) { fmt.Printf("%s: %v\n", what, err) }
	r := &record{Provider: "p", Params: acmp.InvokeParams{TaskID: "t"}}
	held, err := newJournal(filepath.Join(dir, "held.task"), r)
	say("made", err)
	if err == nil {
		r.Cancelled = "changed"
		say("changed", withoutFolders(func() error { return held.write(r) }))
	}
	say("new", withoutFolders(func() error {
		_, err := newJournal(filepath.Join(dir, "new.task"), r)
		return err
	}))
	in := &inputFile{path: filepath.Join(dir, "held.in"), log: slog.New(slog.DiscardHandler)}
	chunk := func(data string) *piece {
		return &piece{msg: acmp.InputChunk{TaskID: "t", Chunk: acmp.Payload{Data: []byte(data)}}}
	}
	say("input", withoutFolders(func() error { return in.replace([]*piece{chunk(`"one"`)}) }))
	if in.f != nil {
		_, err = in.f.WriteString("behind it\n")
	}
	say("behind", err)
	fmt.Println("done")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// TestFolderNotSynced lets the sync of the folder fail after a file has taken the
// place of another: the journal stays locked by who runs the task, what is written
// goes into the file that stands there, and a task that is not sent leaves nothing.
func TestFolderNotSynced(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVar+"=unsynced", "PID_FILE="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	var said []string
	for sc := bufio.NewScanner(out); sc.Scan() && sc.Text() != "done"; {
		said = append(said, sc.Text())
	}
	all := strings.Join(said, "\n")
	for what, failed := range map[string]bool{"made": false, "changed": true, "new": true, "input": true, "behind": false} {
		if failed == strings.Contains(all, what+": <nil>") {
			t.Fatalf("%s: want an error %v:\n%s", what, failed, all)
		}
	}
	if !strings.Contains(all, "changed: open "+dir+": too many open files") {
		t.Fatalf("another thing failed than the folder:\n%s", all)
	}
	var r record
	if j, err := openJournal(filepath.Join(dir, "held.task"), &r); j != nil || err != nil {
		t.Errorf("the journal of a running task can be taken: %v, %v", j, err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "held.task"))
	if err != nil || !strings.Contains(string(raw), "changed") {
		t.Errorf("%v: %s", err, raw)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.task")); err == nil {
		t.Error("a task that was not sent can be taken up by a later run")
	}
	raw, err = os.ReadFile(filepath.Join(dir, "held.in"))
	if err != nil || !strings.Contains(string(raw), "one") || !strings.HasSuffix(string(raw), "behind it\n") {
		t.Errorf("what was written behind is elsewhere: %v: %s", err, raw)
	}
}
