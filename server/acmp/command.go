package acmp

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
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
	return nil
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
