package acmp

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// watchdog is our end of a process that ends the providers on stdio should this
// program be killed (B39). It is told over a pipe "?MARK" before a child is started,
// "!MARK" when its start is over, "+PID MARK" for its process group and "-PID" at the
// group's end. When the pipe ends it kills what is left: the groups, and what carries
// a mark. It is started with the first provider. A nil watchdog does nothing.
type watchdog struct {
	argv []string
	log  *slog.Logger

	mu     sync.Mutex
	groups map[int]string  // marks by group
	starts map[string]bool // marks of what is being started
	cmd    *exec.Cmd
	pipe   *os.File
	off    bool // could not be started, or closed
}

func newWatchdog(argv []string, log *slog.Logger) *watchdog {
	if len(argv) == 0 {
		return nil
	}
	return &watchdog{argv: argv, log: log, groups: map[int]string{}, starts: map[string]bool{}}
}

// markName is the variable that marks all that a provider on stdio starts.
const markName = "SIGNALBOX_RUN"

// starting tells the mark of a child before it is started, so that it is found even
// if this program is killed before it can name the child. The start is over when
// known is called: the group is watched, or there is none.
func (d *watchdog) starting(mark string) (known func()) {
	if d == nil {
		return func() {}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts[mark] = true
	d.tell("?" + mark + "\n")
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.starts, mark)
		d.tell("!" + mark + "\n")
	}
}

func (d *watchdog) watch(pid int, mark string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups[pid] = mark
	d.tell(fmt.Sprintf("+%d %s\n", pid, mark))
}

func (d *watchdog) forget(pid int) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.groups, pid)
	d.tell(fmt.Sprintf("-%d\n", pid))
}

// tell passes one line on; a watchdog that is gone is replaced.
func (d *watchdog) tell(line string) {
	if d.off {
		return
	}
	if d.pipe != nil {
		if _, err := d.pipe.WriteString(line); err == nil {
			return
		}
		d.end()
	}
	if err := d.start(); err != nil {
		d.off = true
		d.log.Warn("no watchdog: providers on stdio may outlive this program if it is killed", "cause", err)
		return
	}
	var all strings.Builder
	for mark := range d.starts {
		fmt.Fprintf(&all, "?%s\n", mark)
	}
	for pid, mark := range d.groups {
		fmt.Fprintf(&all, "+%d %s\n", pid, mark)
	}
	_, _ = d.pipe.WriteString(all.String()) // if it fails, the next line starts another
}

func (d *watchdog) start() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(d.argv[0], d.argv[1:]...)
	cmd.Stdin, cmd.Env = r, childEnv(os.Environ(), ProviderSpec{})
	ownGroup(cmd) // what ends us must not end it
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	d.cmd, d.pipe = cmd, w
	return nil
}

func (d *watchdog) end() {
	if d.pipe == nil {
		return
	}
	d.pipe.Close()
	cmd, gone := d.cmd, make(chan struct{})
	d.pipe, d.cmd = nil, nil
	go func() { _ = cmd.Wait(); close(gone) }()
	if !sleepUnless(gone, time.Second) {
		_ = cmd.Process.Kill()
		<-gone
	}
}

func (d *watchdog) close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	d.end()
}
