package acmp

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The watchdog is a second process of this program. It is told which process
// groups run, over a pipe; when the pipe ends although groups are left, this
// process was killed, and the watchdog ends them. It lives in a session of its
// own, so that what ends us does not end it.

// Watchdog is the body of that process. It reads lines from in until it ends, then
// kills the groups that are left and all that carries their marks: "?MARK" before a
// process is started, "!MARK" when its start is over, "+PID MARK" for the group it
// leads and "-PID" at the group's end.
func Watchdog(in io.Reader) {
	groups, starting := map[int]string{}, map[string]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		op := lines.Text()
		if len(op) < 2 {
			continue
		}
		switch op[0] {
		case '?':
			starting[op[1:]] = true
			continue
		case '!':
			delete(starting, op[1:])
			continue
		}
		number, mark, _ := strings.Cut(op[1:], " ")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 1 {
			continue
		}
		if op[0] == '+' {
			groups[pid] = mark
		} else {
			delete(groups, pid)
		}
	}
	for pid := range groups {
		killGroup(&os.Process{Pid: pid})
	}
	for _, mark := range groups {
		starting[mark] = true
	}
	delete(starting, "")
	for mark := range starting {
		killMarked(mark)
	}
}

// dog is our end of the watchdog; it is started with the first command.
type dog struct {
	argv []string
	log  *slog.Logger

	mu     sync.Mutex
	groups map[int]string  // marks by group
	starts map[string]bool // marks of what is being started
	cmd    *exec.Cmd
	pipe   *os.File
	failed bool
	closed bool
}

func newDog(argv []string, log *slog.Logger) *dog {
	return &dog{argv: argv, log: log, groups: map[int]string{}, starts: map[string]bool{}}
}

// starting tells the mark of a process before it is started, so that it is found
// even if this program is killed before it can name the process. The start is over
// when known is called: the group is watched, or there is none.
func (d *dog) starting(mark string) (known func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts[mark] = true
	d.tellLocked("?" + mark)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.starts, mark)
		d.tellLocked("!" + mark)
	}
}

func (d *dog) watch(pid int, mark string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups[pid] = mark
	d.tellLocked("+" + strconv.Itoa(pid) + " " + mark)
}

func (d *dog) forget(pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.groups, pid)
	d.tellLocked("-" + strconv.Itoa(pid))
}

// tellLocked passes one line on. A watchdog that is gone is replaced once per line.
func (d *dog) tellLocked(line string) {
	if len(d.argv) == 0 || d.failed || d.closed {
		return
	}
	if d.pipe != nil {
		if _, err := fmt.Fprintln(d.pipe, line); err == nil {
			return
		}
		d.endLocked()
	}
	if err := d.startLocked(); err != nil {
		d.failed = true
		d.log.Warn("the watchdog cannot be started: commands may outlive a killed provider", "err", err)
		return
	}
	var all strings.Builder
	for mark := range d.starts {
		fmt.Fprintf(&all, "?%s\n", mark)
	}
	for pid, mark := range d.groups {
		fmt.Fprintf(&all, "+%d %s\n", pid, mark)
	}
	_, _ = io.WriteString(d.pipe, all.String()) // if it fails, the next line starts another
}

func (d *dog) startLocked() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Stdin = r
	cmd.Env = childEnv(os.Environ())
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	d.cmd, d.pipe = cmd, w
	return nil
}

// endLocked lets the watchdog go and waits for it, bounded.
func (d *dog) endLocked() {
	if d.pipe == nil {
		return
	}
	d.pipe.Close()
	cmd := d.cmd
	d.pipe, d.cmd = nil, nil
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }() // how it ended does not matter
	if !within(time.Second, gone) {
		_ = cmd.Process.Kill()
		<-gone
	}
}

func (d *dog) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.endLocked()
}
