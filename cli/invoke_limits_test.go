package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// limited is a real provider on stdio whose commands say what they take.
func limited(t *testing.T) (flag string) {
	t.Helper()
	conf := file(t, "c.yaml", `provider_id: agent:t:local
capabilities:
  - {name: long, command: [sh, -c, 'echo done'], input: none, timeout_ms: 600000}
  - {name: short, command: [sh, -c, 'sleep 30'], input: none, timeout_ms: 300}
  - {name: open, command: [sh, -c, 'sleep 30'], input: none}
  - {name: reads, command: [cat], input: stdin}
`)
	return fmt.Sprintf("p=stdio:'%s' provide --stdio --config '%s'", binary(t), conf)
}

// Without --timeout a task may take what its provider lets it take; with one, that.
func TestInvokeTakesTheLimitOfTheCapability(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	provider := limited(t)
	for args, want := range map[string]time.Duration{
		"long":                         10 * time.Minute,
		"reads":                        30 * time.Second, // it does not say
		"long --timeout 2m":            2 * time.Minute,
		"long --quote --quote-wait 9s": 10 * time.Minute,
	} {
		got := runWith(t.Context(), "", invokeEnv(t), append([]string{"invoke", "--json", "--provider", provider}, strings.Fields(args)...)...)
		var left time.Duration
		for line := range strings.Lines(got.stdout) {
			var sent struct {
				Event    string
				At       time.Time `json:"at_utc"`
				Deadline time.Time `json:"deadline_utc"`
			}
			if err := json.Unmarshal([]byte(line), &sent); err != nil {
				t.Fatal(err)
			}
			if sent.Event == "sent" {
				left = sent.Deadline.Sub(sent.At)
			}
		}
		// The event is made a moment after the clock began to run.
		if got.code != exitOK || left > want || left < want-5*time.Second {
			t.Errorf("%s: exit %d, deadline after %s, want %s: %s", args, got.code, left, want, got.stderr)
		}
	}
}

// A deadline that was too short is told with what helps.
func TestInvokeTellsOfTheDeadline(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	provider := limited(t)
	for args, want := range map[string]string{
		"open --timeout 4s": "; the deadline was 4s, and --timeout sets a longer one",
		"short":             "300ms",
	} {
		got := runWith(t.Context(), "", invokeEnv(t), append([]string{"invoke", "--provider", provider}, strings.Fields(args)...)...)
		last := got.stderr[strings.Index(got.stderr, "signalbox: "):]
		if got.code != exitFailed || !strings.Contains(last, want) || !strings.Contains(last, "(-33003)") {
			t.Errorf("%s: exit %d: %s", args, got.code, got.stderr)
		}
		if args == "short" && strings.Contains(last, "--timeout") {
			t.Errorf("%s: --timeout would not help: %s", args, last)
		}
	}
}

// Input for a command that reads none is refused before anything is sent.
func TestInvokeRefusesInputThatNobodyReads(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	provider := limited(t)
	for args, want := range map[string]string{
		"long --input x":      "long takes no input; leave out --input\n",
		"long --input -":      "long takes no input; leave out --input\n",
		"long --input-stream": "long takes no input; leave out --input-stream\n",
	} {
		got := runWith(t.Context(), "x", invokeEnv(t), append([]string{"invoke", "--provider", provider}, strings.Fields(args)...)...)
		if got.code != exitUsage || !strings.HasSuffix(got.stderr, want) || got.stdout != "" {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if got := runWith(t.Context(), "x", invokeEnv(t), "invoke", "long", "--provider", provider); got.code != exitOK || got.stdout != "done\n" {
		t.Errorf("without input: %+v", got)
	}
}
