package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
	"signalbox/model/text"
)

// invokeOutput prints what happens to one task. event is called by the buyer's
// goroutine and may block on stdout, which stalls the stream; the rest by the
// command.
type invokeOutput struct {
	g     *globals
	brk   *interrupt
	plain *plainOutput // nil with --json
	stop  func(taskID, reason string)
	// hint words what helps against an error, or gives "".
	hint func(*acmp.TaskEvent) string
	// deadline of the task, known once it is sent.
	deadline time.Time

	done chan acmp.TaskEvent // the outcome

	mu      sync.Mutex
	problem string // why we gave the task up
	gone    bool   // because nobody reads the output any more
}

func newInvokeOutput(g *globals, brk *interrupt) *invokeOutput {
	o := &invokeOutput{g: g, brk: brk, done: make(chan acmp.TaskEvent, 1)}
	if !g.json {
		o.plain = newPlainOutput(g.sys.Stdout)
	}
	return o
}

// event prints one event.
func (o *invokeOutput) event(ev acmp.TaskEvent) {
	if ev.Kind == acmp.EventSent {
		o.deadline = ev.Deadline
	}
	var err error
	if o.plain == nil {
		err = o.printJSON(&ev)
	} else {
		err = o.plain.event(&ev)
		o.tell(&ev)
	}
	switch {
	case readerGone(err):
		o.mu.Lock()
		o.gone = true
		o.mu.Unlock()
		o.giveUp(ev.TaskID, "nobody reads the output any more")
	case err != nil:
		o.giveUp(ev.TaskID, err.Error())
	}
	if ev.Kind.Final() {
		o.done <- ev
	}
}

// giveUp cancels the task because of a fault on our side.
func (o *invokeOutput) giveUp(taskID, problem string) {
	o.mu.Lock()
	first := o.problem == ""
	if first {
		o.problem = problem
	}
	o.mu.Unlock()
	if first {
		o.stop(taskID, problem)
	}
}

// tell reports on stderr what is not output.
func (o *invokeOutput) tell(ev *acmp.TaskEvent) {
	o.mu.Lock()
	gone := o.gone
	o.mu.Unlock()
	if gone {
		return
	}
	var s string
	switch ev.Kind {
	case acmp.EventHeartbeat:
		s = "heartbeat"
		if ev.Progress != nil {
			s += fmt.Sprintf(" %.0f%%", 100**ev.Progress)
		}
	case acmp.EventStalled:
		s = "stalled:"
	case acmp.EventStreamBroken:
		s = "stream broken:"
	case acmp.EventResent:
		s = fmt.Sprintf("sent again (%d)", ev.Attempt)
	case acmp.EventCancelRequested:
		s = "cancel requested:"
	default:
		return
	}
	if ev.Detail != "" {
		s += " " + oneLine(ev.Detail)
	}
	fmt.Fprintln(o.g.sys.Stderr, s)
}

func (o *invokeOutput) printJSON(ev *acmp.TaskEvent) error {
	line, err := jsonLine(ev)
	if err == nil {
		_, err = o.g.sys.Stdout.Write(line)
	}
	return err
}

// wait blocks until the task has its outcome or the user leaves.
func (o *invokeOutput) wait(taskID string) error {
	first := o.brk.first
	for {
		select {
		case ev := <-o.done:
			return o.exit(&ev)
		case <-first:
			first = nil
			o.stop(taskID, "interrupted")
		case <-o.brk.second:
			return failf(exitInterrupted, "left without waiting for the end of task %s", taskID)
		}
	}
}

// exit makes the exit code of the outcome. A result that overtook the cancel
// counts.
func (o *invokeOutput) exit(ev *acmp.TaskEvent) error {
	o.mu.Lock()
	problem, gone := o.problem, o.gone
	o.mu.Unlock()
	switch {
	case gone:
		return errReaderGone()
	case problem != "":
		return failf(exitFailed, "%s", oneLine(problem))
	case ev.Kind == acmp.EventError && o.brk.asked():
		return failf(exitInterrupted, "interrupted: %s", errorLine(ev.Err))
	case ev.Kind == acmp.EventError:
		return failf(exitFailed, "%s%s", errorLine(ev.Err), o.hint(ev))
	case ev.Overcharge != "":
		return failf(exitFailed, "the provider charged %s CU, %s above the ceiling", ev.Result.CostCU, ev.Overcharge)
	case ev.ProofCheck == acmp.ProofDiffers:
		return failf(exitFailed, "the proof does not match the output")
	}
	return nil
}

// refused makes the exit code of an invocation that was never sent.
func (o *invokeOutput) refused(err error) error {
	var ee *exitError
	if errors.As(err, &ee) {
		return err
	}
	if o.brk.asked() {
		return failf(exitInterrupted, "interrupted before anything was sent")
	}
	var (
		r *buyer.Refusal
		e *acmp.Error
	)
	if errors.As(err, &e) && o.plain == nil {
		_ = o.printJSON(&acmp.TaskEvent{Kind: acmp.EventError, Err: e, At: time.Now()})
	}
	code := exitFailed
	switch {
	case errors.As(err, &r) && r.Unreachable:
		code = exitUnreachable
	case errors.As(err, &e) && e.Code == acmp.CodeInvalidParams:
		code = exitUsage
	}
	// Several providers may have failed, each with a line.
	return failf(code, "%s", oneLine(err.Error()))
}

func errorLine(e *acmp.Error) string {
	s := oneLine(e.Error())
	if detail, ok := e.Data["detail"].(string); ok && strings.TrimSpace(detail) != "" {
		s += ": " + oneLine(detail)
	}
	return s
}

// oneLine makes one row of prose of several, such as the last lines that a command
// printed: each line end becomes a semicolon.
func oneLine(s string) string {
	rows := text.Block(s)
	for i, row := range rows {
		rows[i] = strings.TrimSpace(row)
	}
	return strings.Join(slices.DeleteFunc(rows, func(row string) bool { return row == "" }), "; ")
}

// jsonLine is one line of --json: event, task_id and time first.
func jsonLine(ev *acmp.TaskEvent) ([]byte, error) {
	head, err := json.Marshal(struct {
		Event  acmp.EventKind `json:"event"`
		TaskID string         `json:"task_id,omitempty"` // none where nothing was sent
		At     string         `json:"at_utc"`
	}{ev.Kind, ev.TaskID, stampUTC(ev.At)})
	if err != nil {
		return nil, err
	}
	members := eventMembers(ev)
	delete(members, "task_id")
	rest, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	if len(members) > 0 {
		head = append(append(head[:len(head)-1], ','), rest[1:]...)
	}
	return append(plainASCII(head), '\n'), nil
}

// eventMembers are the members of one event besides the first three.
func eventMembers(ev *acmp.TaskEvent) map[string]any {
	m := map[string]any{}
	switch ev.Kind {
	case acmp.EventSent, acmp.EventResent:
		m["provider"], m["capability"], m["attempt"] = ev.Provider, ev.Params.Capability, ev.Attempt
		m["deadline_utc"] = stampUTC(ev.Deadline)
	case acmp.EventChunk:
		m["seq"], m["chunk"], m["final"] = ev.Seq, ev.Chunk, ev.Final
	case acmp.EventHeartbeat:
		if ev.Progress != nil {
			m["progress"] = *ev.Progress
		}
	case acmp.EventResult:
		m = resultMembers(ev)
	case acmp.EventError:
		m["code"], m["name"], m["message"] = ev.Err.Code, acmp.CodeName(ev.Err.Code), ev.Err.Message
		m["data"], m["local"] = ev.Err.Data, ev.Err.Local
		if ev.Err.Data == nil {
			m["data"] = map[string]any{}
		}
	}
	switch {
	case ev.Kind == acmp.EventCancelRequested:
		m["reason"] = ev.Detail
	case ev.Detail != "":
		m["detail"] = ev.Detail
	}
	return m
}

func resultMembers(ev *acmp.TaskEvent) map[string]any {
	m := map[string]any{}
	if b, err := json.Marshal(ev.Result); err == nil {
		// Kept as written: no number goes through a float.
		raw := map[string]json.RawMessage{}
		_ = json.Unmarshal(b, &raw)
		for k, v := range raw {
			m[k] = v
		}
	}
	if ev.Overcharge != "" {
		m["overcharge_cu"] = ev.Overcharge
	}
	if ev.ProofCheck != "" {
		m["proof_check"] = ev.ProofCheck
	}
	return m
}

func stampUTC(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// plainASCII escapes in JSON text what a terminal may take for a command or
// what hides text; such characters can only stand inside strings (B102).
func plainASCII(b []byte) []byte {
	if !needsEscape(b) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case r < 0x7f || unicode.IsPrint(r):
			out = append(out, b[:n]...)
		case r > 0xffff:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return out
}

func needsEscape(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f {
			return true
		}
	}
	return false
}
