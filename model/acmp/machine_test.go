package acmp

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A.18, every state with every event.
func TestNext(t *testing.T) {
	want := map[State]map[EventKind]State{
		StatePending: {
			EventSent: StateRunning, EventResent: StateRunning, EventError: StateFailed, EventCancelRequested: StatePending,
		},
		StateRunning: {
			EventChunk: StateRunning, EventHeartbeat: StateRunning, EventStalled: StateRunning,
			EventStreamBroken: StateRunning, EventResent: StateRunning, EventCancelRequested: StateRunning,
			EventResult: StateCompleted, EventError: StateFailed,
		},
	}
	for _, s := range States() {
		for _, k := range EventKinds() {
			to, allowed := want[s][k]
			got, ok := Next(s, k)
			if ok != allowed || ok && got != to || !ok && got != s {
				t.Errorf("%s on %s: %s, %v; want %s, %v", k, s, got, ok, to, allowed)
			}
		}
	}
}

func TestAfter(t *testing.T) {
	for _, c := range []struct {
		name string
		ev   TaskEvent
		want State
	}{
		{"cancelled", TaskEvent{Kind: EventError, Err: &Error{Code: CodeCancelled}}, StateCancelled},
		{"failed", TaskEvent{Kind: EventError, Err: &Error{Code: CodeTimeout}}, StateFailed},
		{"unknown code (A-104)", TaskEvent{Kind: EventError, Err: &Error{Code: -33050}}, StateFailed},
		{"no error given", TaskEvent{Kind: EventError}, StateFailed},
		{"overcharged (A-005)", TaskEvent{Kind: EventResult, Overcharge: "0.1"}, StateFailed},
		{"result", TaskEvent{Kind: EventResult}, StateCompleted},
	} {
		if got, ok := After(StateRunning, &c.ev); !ok || got != c.want {
			t.Errorf("%s: %s, %v", c.name, got, ok)
		}
	}
}

// A final state stays, whatever comes.
func TestFinalStatesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := StatePending
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			ev := TaskEvent{Kind: rapid.SampledFrom(append(EventKinds(), "nonsense")).Draw(t, "kind")}
			next, ok := After(s, &ev)
			if s.Final() && (ok || next != s) {
				t.Fatalf("%s on %s led to %s", ev.Kind, s, next)
			}
			if s == StateRunning && next == StatePending {
				t.Fatal("a task went back")
			}
			s = next
		}
	})
}

// verdicts at the very edges.
func TestLiveness(t *testing.T) {
	t0 := time.Date(2026, 5, 16, 12, 0, 0, 0, time.UTC)
	const iv = 1000 * time.Millisecond
	for _, c := range []struct {
		silence  time.Duration
		interval time.Duration
		ratio    float64
		life     Life
	}{
		{0, iv, 0, LifeAlive},
		{-time.Hour, iv, 0, LifeAlive}, // a clock that stepped back is no silence
		{iv, iv, 1.0 / 3, LifeAlive},
		{iv + 1, iv, 1.0 / 3, LifeLate},
		{2 * iv, iv, 2.0 / 3, LifeLate},
		{2*iv + 1, iv, 2.0 / 3, LifeSilent},
		{3 * iv, iv, 1, LifeSilent},
		{3*iv + time.Millisecond, iv, 1.0003, LifeDead},
		{time.Hour, 0, 0, LifeUnknown},
		{time.Hour, -iv, 0, LifeUnknown},
	} {
		ratio, life := Liveness(t0, t0.Add(c.silence), c.interval)
		if life != c.life || ratio < c.ratio-0.001 || ratio > c.ratio+0.001 {
			t.Errorf("silence %s of %s: %.4f %s, want %.4f %s", c.silence, c.interval, ratio, life, c.ratio, c.life)
		}
	}
}

func TestNextLifeIsWhereTheVerdictChanges(t *testing.T) {
	t0 := time.Date(2026, 5, 16, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		iv := time.Duration(rapid.Int64Range(-1, int64(10*time.Second)).Draw(t, "interval"))
		now := t0.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "now")))
		_, before := Liveness(t0, now, iv)
		next := NextLife(t0, now, iv)
		if next.IsZero() {
			if before != LifeDead && before != LifeUnknown {
				t.Fatalf("%s has no next", before)
			}
			return
		}
		if _, at := Liveness(t0, next.Add(-1), iv); at != before {
			t.Fatalf("changed before %s: %s to %s", next, before, at)
		}
		if _, at := Liveness(t0, next, iv); at == before {
			t.Fatalf("still %s at %s", at, next)
		}
	})
}

//
func TestDeadline(t *testing.T) {
	t0 := time.Date(2026, 5, 16, 12, 0, 0, 0, time.UTC)
	if got := Deadline(t0, 0).Sub(t0); got != 30*time.Second {
		t.Errorf("default: %s", got)
	}
	if got := Deadline(t0, 1500).Sub(t0); got != 1500*time.Millisecond {
		t.Errorf("given: %s", got)
	}
	if DeadlineLeft(t0, t0.Add(time.Second)) != 0 || DeadlineLeft(time.Time{}, t0) != 0 || DeadlineLeft(t0, t0.Add(-time.Second)) != time.Second {
		t.Error("what is left")
	}
}

// D-22.
func TestOvercharge(t *testing.T) {
	n := func(s string) *json.Number { v := json.Number(s); return &v }
	for _, c := range []struct {
		cost    json.Number
		ceiling *json.Number
		want    json.Number
		bad     bool
	}{
		{"0.3", n("0.3"), "", false},
		{"0.30", n("0.3"), "", false},
		{"3e-1", n("0.3"), "", false},
		{"0.300000000000000000001", n("0.3"), "0.000000000000000000001", false},
		{"5", nil, "", false},
		{"0", n("0"), "", false},
		{"-0", n("0"), "", false},
		{"1e3", n("999.5"), "0.5", false},
		{"-1", n("1"), "", true},
		{"NaN", n("1"), "", true},
		{"Infinity", nil, "", true},
		{"1e999999999", n("1"), "", true},
		{"", n("1"), "", true},
		{"1", n("x"), "", true},
	} {
		got, err := Overcharge(c.cost, c.ceiling)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%s against %v: %q, %v", c.cost, c.ceiling, got, err)
		}
	}
	if sum, err := AddCU("0.1", "0.2"); err != nil || sum != "0.3" {
		t.Errorf("0.1 + 0.2 = %s, %v", sum, err)
	}
	if sum, err := AddCU("", "0.2"); err != nil || sum != "0.2" {
		t.Errorf("nothing + 0.2 = %s, %v", sum, err)
	}
}

// Compared as integers of a scale both share, never as floats.
func TestOverchargeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Uint64Range(0, 1<<62).Draw(t, "cost")
		b := rapid.Uint64Range(0, 1<<62).Draw(t, "ceiling")
		ceiling := json.Number(scaled(b))
		over, err := Overcharge(json.Number(scaled(a)), &ceiling)
		if err != nil {
			t.Fatal(err)
		}
		if (over != "") != (a > b) {
			t.Fatalf("%d against %d: %q", a, b, over)
		}
		if a > b {
			if c, err := CompareCU(over, json.Number(scaled(a-b))); err != nil || c != 0 {
				t.Fatalf("%d - %d is %s", a, b, over)
			}
		}
	})
}

func scaled(n uint64) string {
	b, _ := json.Marshal(n)
	return string(b) + "e-18"
}
