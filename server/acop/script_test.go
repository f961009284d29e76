package acop

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	core "signalbox/model/acop"
)

// script notes a random sequence of acts, and what the model says of each, as a
// fixture that can be put beside the others.
type script struct {
	run    string // the prefix that keeps this sequence's ids apart
	steps  []fixture
	claims map[string]string // variable by claim id
}

// tokenOf names the variable of somebody's token.
var tokenOf = map[string]string{"worker-http": "worker_http_token", "worker-other": "worker_other_token", "lead-01": "lead_token",
	"fixture-producer": "producer_token", "orch-01": "orchestrator_token", "reader-01": "reader_token"}

// neutral takes the sequence's own ids out of a path or body.
func (s *script) neutral(text string) string {
	for id, name := range s.claims {
		text = strings.ReplaceAll(text, id, "${"+name+"}")
	}
	text = strings.ReplaceAll(text, escaped(s.run), "work%3A")
	return strings.ReplaceAll(text, s.run, "work:")
}

func (s *script) ask(method, path, who string, body any, want said) {
	fx := fixture{Name: method + " by " + who, Expected: &fixtureResponse{Status: want.status}}
	fx.Request = &fixtureRequest{Method: method, Path: s.neutral(path), Headers: map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer ${" + tokenOf[who] + "}"}}
	if body != nil {
		fx.Request.Body = json.RawMessage(s.neutral(mustJSON(body)))
	}
	if want.code != "" {
		fx.Expected.Match = &fixtureMatch{Kind: "subset", Value: m{"error": m{"code": string(want.code)}}}
	}
	s.steps = append(s.steps, fx)
}

// granted notes that the last act made a claim.
func (s *script) granted(id string) {
	name := fmt.Sprint("claim_", len(s.claims)+1)
	s.claims[id] = name
	s.steps[len(s.steps)-1].Captures = map[string]string{name: "$.claim.claim_id"}
}

// advance notes that time passed.
func (s *script) advance(seconds float64) {
	s.steps = append(s.steps, fixture{Name: "time passes", Advance: seconds})
}

// write puts the sequence into a file, with the state that the model expects at
// its end. The file of an earlier, longer failure of this run is replaced.
func (s *script) write(l *little) (string, error) {
	var after []fixtureRead
	for _, id := range slices.Sorted(maps.Keys(l.items)) {
		after = append(after, fixtureRead{Path: s.neutral("work-items/" + escaped(id)),
			Match: m{"item": m{"work_item": m{"status": string(l.items[id].status)}}}})
	}
	for id, name := range s.claims {
		after = append(after, fixtureRead{Path: "claims/${" + name + "}", Match: m{"claim": m{"claim_status": string(l.claims[id].state)}}})
	}
	name := fmt.Sprint("found.", os.Getpid())
	fx := fixture{Name: name, Notes: "A random sequence, shrunk: the last step is not answered as the rules say, or leaves another state.", Steps: slices.Clone(s.steps)}
	for i := len(fx.Steps) - 1; i >= 0; i-- {
		if fx.Steps[i].Request != nil {
			fx.Steps[i].After = after
			break
		}
		if i == 0 || fx.Steps[i].Advance > 0 { // the fault shows by time alone
			look := fixture{Name: "look", Request: &fixtureRequest{Method: "GET", Path: "settings", Headers: map[string]string{"Authorization": "Bearer ${reader_token}"}},
				Expected: &fixtureResponse{Status: http.StatusOK, Match: &fixtureMatch{Kind: "subset", Value: m{"protocol_version": core.ProtocolVersion}}}, After: after}
			fx.Steps = append(fx.Steps, look)
			break
		}
	}
	raw, err := json.MarshalIndent(fx, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(os.TempDir(), name+".json")
	return path, os.WriteFile(path, append(raw, '\n'), 0o600)
}

// deaf is a test that may fail without anybody hearing of it.
type deaf struct {
	testing.TB
	failed bool
	said   strings.Builder
}

func (d *deaf) Helper()                      {}
func (d *deaf) Log(args ...any)              { fmt.Fprintln(&d.said, args...) }
func (d *deaf) Logf(f string, args ...any)   { fmt.Fprintf(&d.said, f+"\n", args...) }
func (d *deaf) Error(args ...any)            { d.failed = true; d.Log(args...) }
func (d *deaf) Errorf(f string, args ...any) { d.failed = true; d.Logf(f, args...) }
func (d *deaf) Fatal(args ...any)            { d.Error(args...); runtime.Goexit() }
func (d *deaf) Fatalf(f string, args ...any) { d.Errorf(f, args...); runtime.Goexit() }
func (d *deaf) Fail()                        { d.failed = true }
func (d *deaf) FailNow()                     { d.failed = true; runtime.Goexit() }
func (d *deaf) Failed() bool                 { return d.failed }

// withFlags sets rapid's flags for the time of one test.
func withFlags(t *testing.T, values map[string]string) {
	t.Helper()
	for name, v := range values {
		f := flag.Lookup(name)
		if f == nil {
			t.Fatalf("rapid has no flag %s", name)
		}
		before := f.Value.String()
		if err := f.Value.Set(v); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(before) })
	}
}

// TestFailureBecomesFixture lets the model be wrong about one act on purpose:
// the random test finds it and leaves a fixture that fails in the same way, and
// that passes once its last step says the truth.
func TestFailureBecomesFixture(t *testing.T) {
	checks := "60"
	if testing.Short() {
		checks = "300" // of which rapid makes a fifth
	}
	withFlags(t, map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "2s", "rapid.checks": checks})
	b := randomBox(t)
	d := &deaf{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(d, func(rt *rapid.T) { newPlayer(rt, b, "/release").play() })
	}()
	<-done
	path := filepath.Join(os.TempDir(), fmt.Sprint("found.", os.Getpid(), ".json"))
	defer os.Remove(path)
	if !d.failed || !strings.Contains(d.said.String(), path) {
		t.Fatalf("nothing was found, or the file is not named: %s", d.said.String())
	}
	fx, err := loadFixture(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := fx.vacuous(); err != nil {
		t.Error(err)
	}
	last := &fx.Steps[len(fx.Steps)-1]
	if !strings.HasSuffix(last.Request.Path, "/release") {
		t.Fatalf("the last step is %+v", last.Request)
	}
	t.Logf("%d steps, the last: %s", len(fx.Steps), last.Request.Path)
	if err := newStage(t, nil, nil).play(&fx); err == nil || !strings.Contains(err.Error(), "status 200, want 409") {
		t.Errorf("the fixture fails otherwise than the sequence did: %v", err)
	}
	last.Expected = &fixtureResponse{Status: http.StatusOK}
	if err := newStage(t, nil, nil).play(&fx); err != nil {
		t.Errorf("told the truth, the fixture fails: %v", err)
	}
}
