package cli

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guidePatience bounds a step of a guide: the machine may be busy, and a step may
// build the program.
const guidePatience = 4 * time.Minute

// desk is what somebody has who follows a guide: a fresh home, terminals in it and,
// where the system lets users make one, a network of its own, so that the ports that
// a guide names are free.
type desk struct {
	t         *testing.T
	home      string
	socket    string // of the terminals' server
	env       []string
	dir       string // where terminals begin
	terminals map[string]*guideTerminal
}

// guideTerminal is a window with a shell.
type guideTerminal struct {
	d      *desk
	target string
	busy   bool // its last command went on when the guide did
	ran    int  // prompts that were answered
}

// newDesk lays out a home. In a clone the program is built by the guide itself, else
// it is in PATH.
func newDesk(t *testing.T, clone bool) *desk {
	t.Helper()
	for _, tool := range []string{"tmux", "bash", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: the guide is not run", tool)
		}
	}
	d := &desk{t: t, home: t.TempDir(), terminals: map[string]*guideTerminal{}}
	// A path, for a name would be looked for by user, and there the user is another.
	d.socket = filepath.Join(d.home, "tmux")
	t.Cleanup(d.clear)
	path := os.Getenv("PATH")
	if d.dir = d.home; clone {
		d.dir = filepath.Join(d.home, "signalbox")
		copySource(t, "..", d.dir)
	} else {
		path = filepath.Dir(binary(t)) + string(filepath.ListSeparator) + path
	}
	goEnv := func(name string) string {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		return name + "=" + strings.TrimSpace(string(out))
	}
	d.env = []string{"-i", "HOME=" + d.home, "PATH=" + path, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh", "TMPDIR=" + os.TempDir(),
		"PS0=[run]\n", "PS1=[guide $?] ", "PS2=[more] ", "HISTFILE=/dev/null", goEnv("GOCACHE"), goEnv("GOMODCACHE"), goEnv("GOPROXY"), "GOFLAGS=-trimpath", "GOTOOLCHAIN=local"}
	return d
}

// copySource is a fresh clone, of the files as they are now.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		if strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(rel, "screenshots/") && !strings.HasSuffix(rel, ".go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), raw, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// clear ends what runs at the desk, also what left its terminal.
func (d *desk) clear() {
	_ = exec.Command("tmux", "-S", d.socket, "kill-server").Run()
	for range 100 {
		left := d.processes()
		if len(left) == 0 {
			return
		}
		for pid := range left {
			_ = signalPID(pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond) // until the killed are gone
	}
}

// processes are those with the desk's home, by what they run.
func (d *desk) processes() map[int]string {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	found := map[int]string{}
	for _, path := range environs {
		raw, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(raw), "HOME="+d.home+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found[pid] = strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		}
	}
	return found
}

// follow types a whole guide and demands that it ends what it began: whoever goes on
// with another guide is at the prompt, and nothing of this one is in the way.
func (d *desk) follow(path string) {
	d.t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	blocks, err := guideBlocks(string(raw))
	if err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	ran := 0
	for _, b := range blocks {
		switch b.kind {
		case "sh":
			d.terminal(b.in).typeBlock(b)
			ran++
		case "keys":
			d.terminal(b.in).pressBlock(b)
		}
	}
	if ran == 0 {
		d.t.Errorf("%s has nothing that is run", path)
	}
	for _, g := range d.terminals {
		g.wait("the prompt at the end of "+path, asksForMore)
		g.busy = false
	}
	soon(d.t, "nothing is left running by "+path, func() bool {
		for _, line := range d.processes() {
			if words := strings.Fields(line); len(words) > 0 && filepath.Base(words[0]) == "signalbox" {
				return false
			}
		}
		return true
	})
}

// wipe empties the terminals; what was set in their shells stays.
func (d *desk) wipe() {
	d.t.Helper()
	for name, g := range d.terminals {
		d.tmux("send-keys", "-R", "-t", name)
		d.tmux("clear-history", "-t", name)
		d.tmux("send-keys", "-t", name, "Enter")
		g.wait("an empty terminal", func(s string) bool { // the shell may tell of jobs that ended
			return !guideRun.MatchString(s) && asksForMore(s)
		})
	}
}

func (d *desk) tmux(args ...string) string {
	d.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", d.socket}, args...)...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// terminal is the one of that name, opened where it is first named.
func (d *desk) terminal(name string) *guideTerminal {
	d.t.Helper()
	if name == "" {
		name = "first"
	}
	if g := d.terminals[name]; g != nil {
		return g
	}
	g := &guideTerminal{d: d, target: name}
	shell := "cd " + shellJoin([]string{d.dir}) + "&& exec env " + shellJoin(d.env) + "bash --noprofile --norc -i"
	session := []string{"tmux", "-S", d.socket, "-f", "/dev/null", "new-session", "-d", "-s", name, "-x", "110", "-y", "36", shell}
	if len(d.terminals) == 0 && exec.Command("unshare", "-rn", "ip", "link", "set", "lo", "up").Run() == nil {
		session = []string{"unshare", "-rn", "sh", "-c", `ip link set lo up && exec ` + shellJoin(session)}
	}
	if out, err := exec.Command(session[0], session[1:]...).CombinedOutput(); err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
	d.terminals[name] = g
	g.wait("a shell", func(s string) bool { return strings.HasPrefix(s, "[guide 0]") })
	return g
}

// shown is all that the terminal holds, lines above the screen included, with the
// home as a guide writes it.
func (g *guideTerminal) shown() string {
	g.d.t.Helper()
	raw := g.d.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", g.target)
	lines := strings.Split(strings.ReplaceAll(raw, g.d.home, "/home/you"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (g *guideTerminal) wait(what string, ok func(string) bool) string {
	g.d.t.Helper()
	for deadline := time.Now().Add(guidePatience); ; {
		shown := g.shown()
		if ok(shown) {
			return shown
		}
		if time.Now().After(deadline) {
			g.d.t.Fatalf("waited %s for %s; the terminal %q shows\n%s", guidePatience, what, g.target, shown)
		}
		time.Sleep(30 * time.Millisecond) // polling a terminal, with a deadline
	}
}

var (
	guidePrompt = regexp.MustCompile(`(?m)^(?:\^C)?\[(?:guide (\d+)|more)\]`)
	guideRun    = regexp.MustCompile(`(?m)^\[run\]\n`)
)

// typeBlock types the lines of a block, each when the shell asks for it, and holds the
// output and the exit codes against the guide.
func (g *guideTerminal) typeBlock(b guideBlock) {
	g.d.t.Helper()
	if g.busy {
		g.wait("the prompt", func(s string) bool { return len(guidePrompt.FindAllString(s, -1)) > g.ran && asksForMore(s) })
		g.busy = false
	}
	before := g.shown()
	g.ran = len(guidePrompt.FindAllString(before, -1))
	since := func(s string) string { return output(s, len(guideRun.FindAllString(before, -1))) }
	for i, line := range b.lines {
		if strings.TrimSpace(line) == "" && i == len(b.lines)-1 {
			continue
		}
		g.d.tmux("send-keys", "-t", g.target, "-l", "--", line)
		g.d.tmux("send-keys", "-t", g.target, "Enter")
		if b.stays && i == len(b.lines)-1 {
			g.busy = true
			if b.shows != nil {
				g.wait(fmt.Sprintf("line %d to show %q", b.line, b.shows), func(s string) bool { return guideShows(b.shows, since(s)) })
			}
			return
		}
		g.wait(fmt.Sprintf("the end of line %d: %s", b.line+i, line), func(s string) bool {
			return len(guidePrompt.FindAllString(s, -1)) > g.ran && asksForMore(s)
		})
		g.ran++
	}
	shown := g.shown()
	g.judge(b, guideCodes(shown)[len(guideCodes(before)):], since(shown))
}

// lastScreen is the end of what is shown, without what scrolled away long ago.
func lastScreen(s string) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-36):], "\n")
}

// asksForMore reports whether the shell waits for a line.
func asksForMore(s string) bool {
	last := s[strings.LastIndexByte(s, '\n')+1:]
	return guidePrompt.MatchString(last) && strings.HasSuffix(last, "]")
}

// guideCodes are the exit codes that the prompts told, in their order.
func guideCodes(shown string) (codes []string) {
	for _, m := range guidePrompt.FindAllStringSubmatch(shown, -1) {
		if m[1] != "" {
			codes = append(codes, m[1])
		}
	}
	return codes
}

// judge holds the codes and the output of a block's commands against the guide.
func (g *guideTerminal) judge(b guideBlock, codes []string, out string) {
	g.d.t.Helper()
	for i, code := range codes {
		want := "0"
		if i == len(codes)-1 {
			want = strconv.Itoa(b.exit)
		}
		if code != want {
			g.d.t.Fatalf("line %d: a command ended with %s, want %s:\n%s", b.line, code, want, g.shown())
		}
	}
	if b.shows != nil && !guideShows(b.shows, out) {
		g.d.t.Fatalf("line %d: the guide shows\n%s\nand the terminal\n%s\nwhole:\n%s", b.line, strings.Join(b.shows, "\n"), out, g.shown())
	}
}

// output is what the commands after the first skip ones put out: all between the start
// of one and the next prompt.
func output(shown string, skip int) string {
	var out strings.Builder
	for _, part := range guideRun.Split(shown+"\n", -1)[1+skip:] {
		if at := guidePrompt.FindStringIndex(part); at != nil {
			part = part[:at[0]]
		}
		out.WriteString(part)
	}
	return out.String()
}

// guideKeys are the keys that a guide names by word.
var guideKeys = map[string]string{
	"enter": "Enter", "esc": "Escape", "tab": "Tab", "space": "Space", "up": "Up", "down": "Down", "left": "Left", "right": "Right",
	"ctrl+c": "C-c", "ctrl+s": "C-s", "ctrl+d": "C-d",
}

// pressBlock presses the keys of each line and waits for what the line says is seen.
// Text in quotes is typed. Several things that must be seen are parted by |; a $ is
// the shell's prompt.
func (g *guideTerminal) pressBlock(b guideBlock) {
	g.d.t.Helper()
	for i, line := range b.lines {
		keys, seen, ok := strings.Cut(line, "→")
		if !ok {
			g.d.t.Fatalf("line %d: %q does not say what is seen", b.line+i, line)
		}
		for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(keys, -1) {
			switch name, named := guideKeys[m[2]]; {
			case named:
				g.d.tmux("send-keys", "-t", g.target, name)
			case m[2] != "":
				g.d.tmux("send-keys", "-t", g.target, "-l", "--", m[2])
			default:
				g.d.tmux("send-keys", "-t", g.target, "-l", "--", m[1])
			}
		}
		for want := range strings.SplitSeq(seen, "|") {
			want = strings.TrimSpace(want)
			pattern := regexp.MustCompile(guidePattern(want))
			if want == "$" { // the shell is back, and what ended did so well
				pattern = regexp.MustCompile(`\[guide 0\]$`)
			}
			g.wait(fmt.Sprintf("line %d to show %q", b.line+i, want), func(s string) bool {
				return pattern.MatchString(lastScreen(s))
			})
		}
	}
}
