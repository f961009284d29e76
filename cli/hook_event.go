package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// hookEvent is what Claude Code and Codex give to a hook, as far as it matters.
type hookEvent struct {
	Event        string
	Tool         string
	ToolInput    map[string]any
	Source       string // of SessionStart
	Notification string // the kind of one
	Failure      string // of StopFailure: a kind; of PostToolUseFailure: what the tool said
	Interrupted  bool   // of PostToolUseFailure: by the agent's user
	Background   []any  // of Stop: what the agent has running and will look at again
}

// maxHookEvent bounds in bytes what is read of an event. What a tool answered makes
// an event long, and comes behind all that matters here.
const maxHookEvent = 4 << 20

var errNoHookEvent = errors.New("stdin holds no event of a hook; this command is run by the hooks that `signalbox hook claude` and `signalbox hook codex` print")

// awaitHookEvent reads the event until ctx ends: an agent, or a person who tries the
// command, may leave stdin open.
func awaitHookEvent(ctx context.Context, r io.Reader) (hookEvent, error) {
	type reading struct {
		e   hookEvent
		err error
	}
	got := make(chan reading, 1)
	go func() {
		e, err := readHookEvent(r)
		got <- reading{e, err}
	}()
	select {
	case r := <-got:
		return r.e, r.err
	case <-ctx.Done():
		return hookEvent{}, fmt.Errorf("the event did not come whole on stdin within %s", hookPatience)
	}
}

// readHookEvent reads one event. Of one that is longer than maxHookEvent the head
// counts, and the rest is read so that its sender finds nobody gone.
func readHookEvent(r io.Reader) (hookEvent, error) {
	head := &io.LimitedReader{R: r, N: maxHookEvent}
	e, err := parseHookEvent(head)
	cut := head.N == 0
	if _, restErr := io.Copy(io.Discard, r); restErr != nil {
		return hookEvent{}, fmt.Errorf("read the event: %w", restErr)
	}
	switch {
	case err == nil && e.Event != "", cut && e.Event != "":
		return e, nil
	case cut:
		return hookEvent{}, fmt.Errorf("the event is longer than %d MiB, and its head does not say what it is", maxHookEvent>>20)
	}
	return hookEvent{}, errNoHookEvent
}

// parseHookEvent takes one field after the other, so that what came before an error
// stands.
func parseHookEvent(r io.Reader) (e hookEvent, err error) {
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return e, errNoHookEvent
	}
	fields := map[string]any{
		"hook_event_name": &e.Event, "tool_name": &e.Tool, "tool_input": &e.ToolInput, "source": &e.Source,
		"notification_type": &e.Notification, "error": &e.Failure, "is_interrupt": &e.Interrupted,
		"background_tasks": &e.Background,
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return e, err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return e, err
		}
		if name, ok := key.(string); ok && fields[name] != nil {
			_ = json.Unmarshal(raw, fields[name]) // of another type in another event: it says nothing then
		}
	}
	_, err = dec.Token()
	return e, err
}

// The words for what an agent does, as the lead reads them.
const (
	agentStarted = "session_started"
	agentWorks   = "working"
	agentWaits   = "waiting for its user"
	agentIdle    = "idle"
	agentStopped = "stopped" // at odds with work that is held: the lead is asked
)

// progress is what an event says about the agent; "" for nothing.
func (e *hookEvent) progress(contents bool) (status, summary string) {
	switch e.Event {
	case "SessionStart":
		if e.Source == "compact" {
			return agentWorks, "" // it goes on with a shorter memory
		}
		return agentStarted, ""
	case "UserPromptSubmit":
		return agentWorks, ""
	case "PostToolUse", "PostToolUseFailure":
		if e.Interrupted {
			return agentWaits, ""
		}
		if strings.HasPrefix(e.Tool, "mcp__signalbox__") || e.Tool == "" {
			return "", "" // the owner has heard that itself
		}
		summary = toolWord + text.Clip(text.Line(e.Tool), 60)
		if used := e.used(); contents && used != "" {
			summary += ": " + used
		}
		return agentWorks, summary
	case "Notification":
		switch e.Notification {
		case "auth_success", "elicitation_complete", "elicitation_response":
			return "", "" // nobody is waited for
		}
		return agentWaits, ""
	case "PermissionRequest", "Interrupt":
		return agentWaits, ""
	case "Stop":
		if len(e.Background) > 0 {
			return agentWorks, ""
		}
		return agentIdle, ""
	case "StopFailure":
		return agentStopped, e.stopped()
	case "SessionEnd":
		return acop.StatusSessionEnded, ""
	}
	return "", ""
}

// stopWord begins the summary of a turn that an error ended.
const stopWord = "an error ended its turn"

// stopped tells of a turn that an error ended, with the kind of the error where it is
// one: what an error says in words may hold anything.
func (e *hookEvent) stopped() string {
	kind := e.Failure
	if kind == "" || len(kind) > 40 || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return stopWord
	}
	return stopWord + ": " + kind
}

// used is what a tool was used on, in one line.
func (e *hookEvent) used() string {
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "description"} {
		if s, ok := e.ToolInput[name].(string); ok && s != "" {
			return text.Clip(text.Line(s), 200)
		}
	}
	return ""
}
