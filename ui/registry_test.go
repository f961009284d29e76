package ui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// model is a root with the fake world, driven without a program.
func model(t *testing.T, o Options) *Model {
	t.Helper()
	now := time.Now()
	o.Now = func() time.Time { return now }
	m := New(t.Context(), o)
	m.size = size{120, 40, Layout(120, 40)}
	m.route(FactsMsg{Facts: uitest.Facts(now)})
	return m
}

// One key means one thing: in the registry, and against every screen.
func TestKeysDoNotClash(t *testing.T) {
	owner := map[string]string{"esc": "frame", "ctrl+c": "frame"}
	for _, a := range actions {
		for _, k := range a.keys {
			if other, ok := owner[k]; ok {
				t.Errorf("key %q is both %s and %s", k, other, a.id)
			}
			owner[k] = a.id
		}
	}
	for _, s := range newScreens() {
		mine := map[string]string{}
		for _, b := range s.Bindings() {
			for _, k := range b.Keys {
				if other, ok := mine[k]; ok {
					t.Errorf("%s: key %q is both %s and %s", s.Name(), k, other, b.Do)
				}
				mine[k] = b.Do
				if other, ok := owner[k]; ok && !b.Over {
					t.Errorf("%s: key %q for %s takes the frame's %s", s.Name(), k, b.Do, other)
				}
			}
		}
	}
}

// Keys can be bound anew; what clashes or does not exist is refused by name.
func TestRebind(t *testing.T) {
	for _, c := range []struct {
		keys map[string][]string
		want string
	}{
		{nil, ""},
		{map[string][]string{"grant": {"ctrl+g"}}, ""},
		{map[string][]string{"grant": {"r"}}, `"r" would be both revoke and grant`},
		{map[string][]string{"grant": {"j"}}, `"j" would be both grant and the`},
		{map[string][]string{"grant": {"esc"}}, "the frame"},
		{map[string][]string{"grant": {}}, "grant needs a key"},
		{map[string][]string{"fly": {"f"}}, `there is no action "fly"`},
	} {
		err := CheckKeys(c.keys)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.keys, err, c.want)
		}
	}
	m := model(t, Options{Keys: map[string][]string{"grant": {"ctrl+g"}}})
	m.room().Select(m.bodyCtx(), screen.Item("work:http:seam", 0))
	m.route(uitest.Key("g"))
	if len(m.dialogs) != 0 {
		t.Error("the old key still acts")
	}
	m.route(uitest.Key("ctrl+g"))
	if len(m.dialogs) != 1 || !strings.Contains(m.keyRow()+strings.Join(mapHelp(m), " "), "ctrl+g") {
		t.Error("the new key does not act or is not shown")
	}
}

func mapHelp(m *Model) []string {
	var out []string
	for _, l := range m.helpLines() {
		out = append(out, l.hint.key)
	}
	return out
}

// Every action names itself in words, and its id once.
func TestActionsAreDescribed(t *testing.T) {
	ids := map[string]bool{}
	for _, a := range actions {
		if a.id == "" || a.help == "" || a.long == "" || a.run == nil || len(a.keys) == 0 || ids[a.id] {
			t.Errorf("action %+v is not complete or not unique", a.id)
		}
		ids[a.id] = true
		if !strings.Contains(KeyTable(), "`"+a.keys[0]) {
			t.Errorf("%s is not in the key table", a.id)
		}
	}
}

// C-066: which acts are offered follows the item's state.
func TestLegalActsByState(t *testing.T) {
	m := model(t, Options{})
	want := map[string]string{
		"work:auth:token-rotation": "decide cancel supersede post",
		"work:auth:docs":           "cancel block supersede post",
		"work:http:seam":           "grant deny cancel block supersede post",
		"work:http:pool":           "revoke cancel supersede post",
		"work:db:index":            "accept send-back cancel supersede post",
		"work:cli:flags":           "grant cancel block supersede post",
		"work:ops:backup":          "cancel requeue supersede post",
	}
	for id, acts := range want {
		var got []string
		s := m.subjectOf(screen.Item(id, 0))
		for i := range actions {
			a := &actions[i]
			if ok, _ := m.enabled(a, s); ok && a.on&onItem != 0 {
				got = append(got, a.id)
			}
		}
		if strings.Join(got, " ") != acts {
			t.Errorf("%s: got %v, want %s", id, got, acts)
		}
	}
}

// H-095: every code is explained in plain words with what to do.
func TestEveryCodeIsExplained(t *testing.T) {
	m := model(t, Options{})
	target := screen.Item("work:http:pool", 1825)
	for _, info := range acop.Vocabulary() {
		e := acop.Errorf(info.Code, "the owner's own words")
		e.RetryAfterSeconds = 7
		got := m.explain(target, e)
		for _, part := range []string{string(info.Code), info.Plain, "the owner's own words", "in_progress by worker-2 at rev 1825", "try again in 7 s"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", info.Code, got, part)
			}
		}
		e.RetryAfterSeconds = 0
		if got := m.explain(target, e); !strings.Contains(got, info.Next) {
			t.Errorf("%s: %q does not say what to do", info.Code, got)
		}
	}
	if got := m.explain(target, context.DeadlineExceeded); !strings.Contains(got, "no answer within 15 s") {
		t.Error(got)
	}
	if got := m.explain(target, errors.New("dial\x1b]0;x\x07 failed")); strings.ContainsRune(got, 0x1b) {
		t.Errorf("%q holds an escape", got)
	}
}

// A decision hangs on what matters; a renewal does not matter.
func TestMaterialChange(t *testing.T) {
	now := time.Now()
	was := uitest.Lease(uitest.Item("w", "t", acop.StatusInProgress, 1, now), "a", time.Minute, 0, now)
	change := func(f func(*acop.Item)) string {
		c := was.Clone()
		f(c)
		return materialChange(was, c)
	}
	quiet := map[string]func(*acop.Item){
		"renewal": func(i *acop.Item) {
			i.Revision++
			i.Lease.RenewedAtUTC = acop.NewTime(now)
			i.Lease.Claim.ExpiresAtUTC = acop.NewTime(now.Add(time.Hour))
		},
		"heartbeat": func(i *acop.Item) { i.Lease.Progress = "half" },
	}
	for name, f := range quiet {
		if why := change(f); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	loud := map[string]func(*acop.Item){
		"status":     func(i *acop.Item) { i.WorkItem.Status = acop.StatusReady },
		"claim":      func(i *acop.Item) { i.Lease.Claim.ClaimID = "other" },
		"blocker":    func(i *acop.Item) { i.Blockers = []acop.Blocker{{BlockerCode: "x"}} },
		"completion": func(i *acop.Item) { i.Completion = &acop.Completion{} },
		"intent":     func(i *acop.Item) { uitest.Intent(i, "b", now) },
		"scope":      func(i *acop.Item) { i.WorkItem.OwnedPaths = []string{"x"} },
		"title":      func(i *acop.Item) { i.WorkItem.Title = "x" },
		"required": func(i *acop.Item) {
			i.ValidationRequirements = []acop.ValidationRequirement{{RequirementID: "x"}}
		},
	}
	for name, f := range loud {
		if change(f) == "" {
			t.Errorf("%s is not seen", name)
		}
	}
	if materialChange(was, nil) == "" || materialChange(nil, was) != "" {
		t.Error("gone or new items are judged wrongly")
	}
}

// An idle box ticks once a minute; a lease ticks by the second, a running task
// four times as often (B83).
func TestPace(t *testing.T) {
	m := New(t.Context(), Options{})
	now := time.Now()
	m.clock.now = now
	m.size = size{120, 40, Layout(120, 40)}
	m.state.Apply(uitest.Live(now))
	if got := m.pace(); got != paceIdle {
		t.Errorf("nothing moves: %v", got)
	}
	m.state.Apply(fleet.SnapshotLoaded{Snapshot: uitest.Snapshot(now), At: now})
	if got := m.pace(); got != paceClock {
		t.Errorf("leases run: %v", got)
	}
	for _, f := range uitest.TaskFacts("task_1", "x", now) {
		m.state.Apply(f)
	}
	if got := m.pace(); got != paceBars {
		t.Errorf("a task runs: %v", got)
	}
	m.pointer.focused = false
	if got := m.pace(); got != paceClock {
		t.Errorf("nobody looks: %v", got)
	}
}

// Update starts no second tick while one that comes early enough is under way.
func TestOneTickAtATime(t *testing.T) {
	m := model(t, Options{})
	if m.schedule() == nil {
		t.Fatal("no tick is started")
	}
	for range 5 {
		if m.schedule() != nil {
			t.Fatal("a second tick is started")
		}
	}
	m.route(tick{m.clock.id, m.clock.due})
	if m.schedule() == nil {
		t.Fatal("no tick follows")
	}
	if id := m.clock.id; m.onTick(tick{id - 1, m.clock.now}) != nil || m.clock.id != id {
		t.Error("a stale tick was taken")
	}
}

// Every key that a screen lists for itself does something there, at least in one
// of a few worlds and sizes and behind one of a few beginnings; one that never
// changes what is shown is listed for nothing.
func TestEveryScreenKeyDoesSomething(t *testing.T) {
	for at, s := range newScreens() {
		listed, live := map[string]string{}, map[string]bool{}
		for _, st := range []*fleet.State{worlds.One(), worlds.Many(80, 12, 9)} {
			for _, size := range [][2]int{{120, 40}, {240, 70}, {80, 24}} {
				for _, way := range [][]string{nil, {"k"}, {"k", "k"}, {"end"}, {"tab"}, {"tab", "k"}, {"tab", "right"}, {"J"}, {"right"}} {
					tryKeys(t, at, st, size, way, listed, live)
				}
			}
		}
		for key, help := range listed {
			if !live[key] {
				t.Errorf("%s: %s (%s) does nothing", s.Name(), key, help)
			}
		}
	}
}

// tryKeys presses each listed key of a screen behind the keys of way, and notes
// those that change what is shown or ask for something.
func tryKeys(t *testing.T, at int, st *fleet.State, size [2]int, way []string, listed map[string]string, live map[string]bool) {
	begin := func() *Model {
		m := sweepModel(t, st, size)
		m.opts.Save = func(string, []byte) (string, error) { return "x", nil }
		m.rooms.at = at
		m.frame()
		for _, k := range way {
			m.onKey(uitest.Key(k))
			m.frame()
		}
		return m
	}
	for _, b := range begin().room().Bindings() {
		for _, key := range b.Keys {
			listed[key] = b.Help
			if live[key] {
				continue
			}
			m := begin()
			before, _ := m.frame()
			cmd := m.onKey(uitest.Key(key))
			after, _ := m.frame()
			live[key] = before != after || cmd != nil
		}
	}
}
