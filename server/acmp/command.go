package acmp

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// OutputMode is how the standard output of a command becomes chunks.
type OutputMode string

// The output modes of acmp.md.
const (
	// OutputLines makes each line one text chunk, its line end kept; a line without
	// an end goes out after 100 ms.
	OutputLines OutputMode = "lines"
	// OutputNDJSON makes each line one json chunk; {"acmp":"heartbeat",...} becomes
	// a heartbeat.
	OutputNDJSON OutputMode = "ndjson"
	// OutputText sends text as it comes, never cutting a character.
	OutputText OutputMode = "text"
	// OutputBytes sends base64 as it comes.
	OutputBytes OutputMode = "bytes"
)

// InputMode is how the input of a task reaches a command.
type InputMode string

// The input modes of acmp.md.
const (
	InputStdin InputMode = "stdin" // written to standard input, as it comes
	InputArg   InputMode = "arg"   // one further argument
	InputNone  InputMode = "none"  // not at all
)

// StderrMode is what becomes of the standard error of a command.
type StderrMode string

// The modes of standard error.
const (
	// StderrMerge writes both outputs into one pipe, so that they are streamed in the
	// order in which the command wrote them.
	StderrMerge StderrMode = "merge"
	// StderrTail streams nothing of it: its end is told when the command fails.
	StderrTail StderrMode = "tail"
)

// DefaultStopGrace is how long a command may take to stop after SIGTERM.
const DefaultStopGrace = 2 * time.Second

// Command is a program that serves a capability. It runs without a shell, in a
// process group of its own, with the environment of this process less everything
// that may hold a token.
type Command struct {
	Argv   []string
	Dir    string     // "" is this process's
	Input  InputMode  // "" is stdin
	Output OutputMode // "" is lines
	Stderr StderrMode // "" is merge for lines, tail for all others
	// Progress finds progress in the lines of both outputs: its first group is a
	// percentage, or with a point and up to 1.0 a fraction.
	Progress *regexp.Regexp
	// Timeout bounds one run, besides the task's own deadline; 0 is none.
	Timeout time.Duration
	// StopGrace is the time between SIGTERM and SIGKILL; 0 is DefaultStopGrace.
	StopGrace time.Duration
}

func (c *Command) validate() error {
	if c.Input == "" {
		c.Input = InputStdin
	}
	if c.Output == "" {
		c.Output = OutputLines
	}
	if c.Stderr == "" {
		c.Stderr = c.Output.stderr()
	}
	if c.StopGrace == 0 {
		c.StopGrace = DefaultStopGrace
	}
	switch {
	case len(c.Argv) == 0 || c.Argv[0] == "":
		return errors.New("the command is empty")
	case c.Timeout < 0:
		return fmt.Errorf("timeout %v is negative", c.Timeout)
	case c.Progress != nil && c.Progress.NumSubexp() < 1:
		return fmt.Errorf("progress %q has no group to take the number from", c.Progress)
	}
	for _, a := range c.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return errors.New("an argument of the command holds a NUL byte")
		}
	}
	switch c.Input {
	case InputStdin, InputArg, InputNone:
	default:
		return fmt.Errorf("input %q is not one of stdin, arg, none", c.Input)
	}
	switch c.Output {
	case OutputLines, OutputNDJSON, OutputText, OutputBytes:
	default:
		return fmt.Errorf("output %q is not one of lines, ndjson, text, bytes", c.Output)
	}
	switch c.Stderr {
	case StderrMerge, StderrTail:
	default:
		return fmt.Errorf("stderr %q is not one of merge, tail", c.Stderr)
	}
	return nil
}

// stderr is the mode of standard error where nothing is said: tools print for people
// on both outputs, but a form made for programs must not be mixed with warnings.
func (m OutputMode) stderr() StderrMode {
	if m == OutputLines {
		return StderrMerge
	}
	return StderrTail
}

// find looks the program up as starting it will.
func (c *Command) find() error {
	name := c.Argv[0]
	path := name
	if filepath.Base(name) != name && !filepath.IsAbs(name) {
		path = filepath.Join(c.Dir, name)
		if c.Dir == "" { // Join may have left a bare word
			path = "." + string(filepath.Separator) + path
		}
	}
	_, err := exec.LookPath(path)
	switch {
	case err == nil:
		return nil
	case path != name:
		return fmt.Errorf("the program %q of command cannot be run in dir: %v", name, findProblem(err))
	case filepath.IsAbs(name):
		return fmt.Errorf("the program %q of command cannot be run: %v", name, findProblem(err))
	}
	return fmt.Errorf("the program %q of command is not found in PATH: install it, write its whole path, or take the capability out", name)
}

// findProblem says why a program cannot be run, without naming it again.
func findProblem(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "it is not executable for this user"
	case errors.Is(err, syscall.EISDIR):
		return "it is a folder"
	}
	return "the system refuses it"
}

// childEnv is env less what may hold a token or an address that comes with one.
func childEnv(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(strings.ToUpper(kv), "=")
		if name == "ACMP_BEARER_TOKEN" || strings.HasPrefix(name, "SIGNALBOX_") || strings.HasPrefix(name, "ACOP_BACKEND_") {
			continue
		}
		kept = append(kept, kv)
	}
	return kept
}
