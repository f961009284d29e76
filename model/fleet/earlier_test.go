package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
)

// Tasks of earlier runs stand in front of this run's, ask for a person where they
// ended in trouble that nobody saw, count nowhere, and never take the place of what
// this run knows.
func TestEarlierTasks(t *testing.T) {
	s := New()
	sent(s, "now", t0, time.Second, time.Minute)
	ceiling := json.Number("0.5")
	s.Apply(EarlierTasks{Outcomes: []acmp.Outcome{
		{TaskID: "a", Provider: "p", Capability: "lint", At: after(-2 * time.Hour), CostCU: "0.1", Tokens: 7, CeilingCU: &ceiling, Overcharge: "0.2"},
		{TaskID: "now", Provider: "p", Capability: "x", At: after(-time.Hour)},
		{TaskID: "b", Provider: "p", Capability: "build", At: after(-time.Hour), Err: &acmp.Error{Code: acmp.CodeInternal, Message: "no disk"}},
		{TaskID: "c", Provider: "p", Capability: "test", At: after(-time.Hour), Err: &acmp.Error{Code: acmp.CodeCancelled}},
		{TaskID: "d", Provider: "p", Capability: "test", At: after(-time.Hour), Err: &acmp.Error{Code: acmp.CodeTimeout}, Seen: true},
		{TaskID: ""},
	}})
	if d := cmp.Diff([]string{"a", "b", "c", "d", "now"}, s.TaskOrder); d != "" {
		t.Error(d)
	}
	wantAsks(t, s, t0, "task a overcharge", "task b failed")
	if a := s.Asks(t0)[1]; !a.Since.Equal(after(-time.Hour)) || !strings.Contains(a.Detail, "no disk") {
		t.Errorf("%+v", a)
	}
	for _, a := range s.Asks(t0) {
		s.Apply(Settled{Key: a.Key, Revision: a.Revision, Reason: a.Reason, At: t0})
	}
	wantAsks(t, s, t0)
	if l := s.Log[len(s.Log)-1]; l.Note != "seen: task:b, failed" {
		t.Errorf("%+v", l)
	}
	a, b, c := s.Tasks["a"], s.Tasks["b"], s.Tasks["c"]
	if !a.Earlier || a.State != acmp.StateCompleted || a.Result.CostCU != "0.1" || a.Result.TokensUsed != 7 || a.Overcharge != "0.2" ||
		b.State != acmp.StateFailed || b.Err.Message != "no disk" || c.State != acmp.StateCancelled || s.Tasks["now"].Earlier {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	if v := s.ProviderViews(); len(v) != 0 {
		t.Errorf("%+v", v)
	}
	if got := s.RunningTasks(); len(got) != 1 || got[0] != "now" {
		t.Errorf("running %v", got)
	}
	// What is told of one again changes nothing (A.18).
	task(s, acmp.EventHeartbeat, "a", t0, nil)
	if s.Tasks["a"].State != acmp.StateCompleted || !s.Tasks["a"].LastBeat.IsZero() {
		t.Error("something followed the end")
	}
}

// However many there are, the newest are kept, and this run's bound is its own.
func TestEarlierTasksAreBounded(t *testing.T) {
	s := New()
	var all []acmp.Outcome
	for i := range maxEarlier + 50 {
		all = append(all, acmp.Outcome{TaskID: fmt.Sprint("e", i), At: after(time.Duration(i) * time.Second)})
	}
	s.Apply(EarlierTasks{Outcomes: all})
	if len(s.Tasks) != maxEarlier || s.TaskOrder[0] != "e50" || s.TaskOrder[maxEarlier-1] != fmt.Sprint("e", maxEarlier+49) {
		t.Errorf("%d tasks, the first is %s", len(s.Tasks), s.TaskOrder[0])
	}
	s.Apply(EarlierTasks{Outcomes: []acmp.Outcome{{TaskID: "one more"}}})
	if len(s.Tasks) != maxEarlier {
		t.Errorf("%d tasks after a second fact", len(s.Tasks))
	}
	for i := range maxTasks + 10 {
		id := fmt.Sprint("t", i)
		sent(s, id, t0, 0, time.Minute)
		task(s, acmp.EventResult, id, t0, nil)
	}
	if len(s.Tasks) != maxEarlier+maxTasks || len(s.TaskOrder) != len(s.Tasks) || s.Tasks["t9"] != nil || s.Tasks["e50"] == nil {
		t.Errorf("%d tasks, %d in order", len(s.Tasks), len(s.TaskOrder))
	}
}

// A failure that whoever ran the task was shown asks nobody else, and an ask about one
// tells how it failed: exit status and last words.
func TestTroubleThatWasTold(t *testing.T) {
	s := New()
	failed := &acmp.Error{Code: acmp.CodeInternal, Message: "Internal provider error",
		Data: map[string]any{"detail": "exit status 2\ngo test ./...\nmake: *** [test] Error 2"}}
	s.Apply(EarlierTasks{Outcomes: []acmp.Outcome{
		{TaskID: "shell", Provider: "p", At: after(-time.Hour), Err: failed, By: "signalbox invoke, process 7", Told: true},
		{TaskID: "lead", Provider: "p", At: after(-time.Hour), Err: failed, By: "signalbox, process 8"},
	}})
	wantAsks(t, s, t0, "task lead failed")
	if a := s.Asks(t0)[0]; a.Detail != "exit status 2: make: *** [test] Error 2" {
		t.Errorf("%q", a.Detail)
	}
	if got := s.Tasks["shell"]; got == nil || got.By != "signalbox invoke, process 7" || got.State != acmp.StateFailed {
		t.Errorf("%+v", got)
	}
}
