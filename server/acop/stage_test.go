package acop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	core "signalbox/model/acop"
)

// fixture is a conformance case: a published one (name, request,
// expected_response, captures), or one of ours, which has more members. They
// are told in testdata/fixtures/README.md.
type fixture struct {
	Name      string           `json:"name,omitempty"`
	Verb      string           `json:"verb,omitempty"`
	Notes     string           `json:"notes,omitempty"`
	DependsOn []string         `json:"depends_on,omitempty"`
	Request   *fixtureRequest  `json:"request,omitempty"`
	Expected  *fixtureResponse `json:"expected_response,omitempty"`
	// Captures maps a variable to the place of its value in the answer.
	Captures map[string]string `json:"captures,omitempty"`

	Covers  []string        `json:"covers,omitempty"`
	Owner   json.RawMessage `json:"owner,omitempty"`
	Advance float64         `json:"advance_seconds,omitempty"`
	Fault   string          `json:"fault,omitempty"`
	Compare [][3]string     `json:"compare,omitempty"`
	After   []fixtureRead   `json:"after,omitempty"`
	Steps   []fixture       `json:"steps,omitempty"`
}

type fixtureRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Raw     string            `json:"raw_body,omitempty"`
}

type fixtureResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Match   *fixtureMatch     `json:"body_match,omitempty"`
}

type fixtureMatch struct {
	Kind  string `json:"kind"`
	Value any    `json:"value"`
}

// fixtureRead is a look at the state that a step leaves.
type fixtureRead struct {
	Path   string `json:"path"`
	Status int    `json:"status,omitempty"` // 0 = 200
	Match  any    `json:"match"`
}

// code is the error code that the answer must have, "" if none is asked for.
func (fx *fixture) code() string {
	if fx.Expected == nil || fx.Expected.Match == nil {
		return ""
	}
	s, _ := reply{body: asMap(fx.Expected.Match.Value)}.at("error.code").(string)
	return s
}

func asMap(v any) map[string]any { out, _ := v.(map[string]any); return out }

// vacuous tells what a fixture leaves open so that it could never fail.
func (fx *fixture) vacuous() error {
	asserts := false
	var look func(*fixture) error
	look = func(f *fixture) error {
		for i := range f.Steps {
			if err := look(&f.Steps[i]); err != nil {
				return err
			}
		}
		if f.Request == nil {
			if f.Expected != nil || len(f.Covers) > 0 || len(f.Steps) == 0 && f.Advance == 0 {
				return fmt.Errorf("%q expects something without asking", f.Name)
			}
			return nil
		}
		switch {
		case f.Expected == nil || f.Expected.Status == 0:
			return fmt.Errorf("%q expects no status", f.Name)
		case f.Expected.Match != nil && (f.Expected.Match.Kind != "subset" || len(asMap(f.Expected.Match.Value)) == 0):
			return fmt.Errorf("%q compares its body with nothing", f.Name)
		case f.Expected.Status >= 300 && f.code() == "":
			return fmt.Errorf("%q expects a refusal without a code", f.Name)
		case len(f.Covers) > 0 && len(f.After) == 0:
			return fmt.Errorf("%q covers a row and does not look at what is left", f.Name)
		}
		for _, a := range f.After {
			if len(asMap(a.Match)) == 0 {
				return fmt.Errorf("%q looks at %s and expects nothing", f.Name, a.Path)
			}
		}
		asserts = asserts || f.Expected.Match != nil
		return nil
	}
	if err := look(fx); err != nil {
		return err
	}
	if !asserts && len(fx.Covers) == 0 && !strings.HasPrefix(fx.Name, "given.") {
		return fmt.Errorf("%q asserts nothing beyond statuses", fx.Name)
	}
	return nil
}

// stage plays fixtures against one owner with shared variables.
type stage struct {
	b    *box
	all  map[string]fixture
	vars map[string]string
	// salt keeps idempotency keys apart when one owner sees a fixture twice.
	salt string
	seen map[string]bool
	// passed holds the step that covered a row.
	passed map[string]*fixture
	// moved: time went on and nobody asked the owner since. What a step finds
	// then must not be settled by a look before it.
	moved bool
}

func newStage(t *testing.T, all map[string]fixture, owner json.RawMessage) *stage {
	t.Helper()
	b := newBox(t, func(o *Options) {
		o.SweepEvery = time.Hour      // what has ended by time shows at the request
		o.Clock.(*fakeClock).freeze() // and only a fixture lets time pass
		if err := yaml.UnmarshalWithOptions(owner, &o.Config, yaml.Strict()); len(owner) > 0 && err != nil {
			t.Fatal(err)
		}
	})
	return &stage{b: b, all: all, seen: make(map[string]bool), passed: make(map[string]*fixture), vars: map[string]string{
		"worker_http_token": b.tokens["worker-http"], "worker_other_token": b.tokens["worker-other"],
		"lead_token": b.tokens["lead-01"], "producer_token": b.tokens["fixture-producer"],
		"orchestrator_token": b.tokens["orch-01"], "reader_token": b.tokens["reader-01"],
	}}
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

// expand fills the variables in; what is not known stays and fails the step.
func (s *stage) expand(text string, escape func(string) string) string {
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if v, known := s.vars[name[2:len(name)-1]]; known {
			return escape(v)
		}
		return name
	})
}

func plain(v string) string { return v }

// play carries a fixture out and tells where the owner did otherwise.
func (s *stage) play(fx *fixture) error {
	s.seen[fx.Name] = true
	if s.moved = s.moved || fx.Advance > 0; fx.Advance > 0 {
		s.b.clock.advance(time.Duration(fx.Advance * float64(time.Second)))
	}
	for i := range fx.Steps {
		if err := s.play(&fx.Steps[i]); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	if fx.Request == nil {
		return nil
	}
	if err := s.ask(fx); err != nil {
		return fmt.Errorf("%s: %w", fx.Name, err)
	}
	for _, row := range fx.Covers {
		s.passed[row] = fx
	}
	return nil
}

// playWhole plays what a fixture depends on, then the fixture itself.
func (s *stage) playWhole(name string) error {
	fx, known := s.all[name]
	if !known {
		return fmt.Errorf("there is no fixture %s", name)
	}
	for _, before := range fx.DependsOn {
		if s.seen[before] {
			continue
		}
		if err := s.playWhole(before); err != nil {
			return err
		}
	}
	return s.play(&fx)
}

// ask sends one request, holds the answer and what is left against the fixture,
// and demands that a refusal left everything looked at as it was.
func (s *stage) ask(fx *fixture) error {
	before := make(map[string]any)
	if fx.Expected.Status >= 300 && !s.moved && fx.code() != string(core.CodeGateBlocked) { // that one keeps the wish
		for _, look := range fx.After {
			r, err := s.get(look.Path)
			if err != nil {
				return fmt.Errorf("before: %w", err)
			}
			before[look.Path] = settled(r)
		}
	}
	s.moved = false
	r, err := s.send(fx)
	if err != nil {
		return err
	}
	if err := s.judge(fx, r); err != nil {
		return err
	}
	for name, at := range fx.Captures {
		if s.vars[name] = r.text(strings.TrimPrefix(at, "$.")); s.vars[name] == "" {
			return fmt.Errorf("nothing to capture at %s: %s", at, r.raw)
		}
	}
	for _, look := range fx.After {
		r, err := s.look(look)
		if err != nil {
			return fmt.Errorf("after: %w", err)
		}
		if was, known := before[look.Path]; known && !reflect.DeepEqual(was, settled(r)) {
			return fmt.Errorf("the refusal changed %s: from %v to %s", look.Path, was, r.raw)
		}
	}
	return nil
}

// settled is an answer without what every request moves: the place in the log,
// and the log itself, in which refusals stand too.
func settled(r reply) map[string]any {
	out := make(map[string]any, len(r.body))
	for k, v := range r.body {
		if k != "revision" && k != "events" {
			out[k] = v
		}
	}
	return out
}

func (s *stage) look(l fixtureRead) (reply, error) {
	r, err := s.get(l.Path)
	if err != nil {
		return r, err
	}
	want := l.Status
	if want == 0 {
		want = http.StatusOK
	}
	if r.status != want {
		return r, fmt.Errorf("%s: status %d, want %d: %s", l.Path, r.status, want, r.raw)
	}
	if why := s.subset(l.Match, r.body, "$"); why != "" {
		return r, fmt.Errorf("%s: %s: %s", l.Path, why, r.raw)
	}
	return r, nil
}

// get reads as somebody who may only look.
func (s *stage) get(path string) (reply, error) {
	return s.b.try("GET", s.expand(path, url.PathEscape), "reader-01", nil)
}

func (s *stage) send(fx *fixture) (reply, error) {
	hs := header{}
	for k, v := range fx.Request.Headers {
		if hs[k] = s.expand(v, plain); k == "Idempotency-Key" {
			hs[k] += s.salt
		}
	}
	var payload any
	switch {
	case fx.Request.Raw != "":
		payload = s.expand(fx.Request.Raw, plain)
	case len(fx.Request.Body) > 0:
		payload = s.expand(string(fx.Request.Body), plain)
	}
	undo, err := s.fail(fx.Fault)
	if err != nil {
		return reply{}, err
	}
	defer undo()
	return s.b.try(fx.Request.Method, s.expand(fx.Request.Path, url.PathEscape), "", payload, hs)
}

// fail brings the owner into one of the two troubles that no request can cause,
// and returns what ends it.
func (s *stage) fail(fault string) (undo func(), err error) {
	switch fault {
	case "":
		return func() {}, nil
	case "log_closed": // until the owner is started anew
		return s.b.restart, s.b.store.Close()
	case "panic": // whatever the request touches beyond the edge fails
		whole := s.b.http
		broken := &Server{opts: s.b.owner.opts, count: &metrics{}, log: slog.New(slog.DiscardHandler), base: DefaultBasePath}
		s.b.http = httptest.NewServer(broken.Handler())
		return func() { s.b.http.Close(); s.b.http = whole }, nil
	}
	return nil, fmt.Errorf("there is no fault %q", fault)
}

// judge holds an answer against what is expected of it.
func (s *stage) judge(fx *fixture, r reply) error {
	if r.status != fx.Expected.Status {
		return fmt.Errorf("status %d, want %d: %s", r.status, fx.Expected.Status, r.raw)
	}
	for k, want := range fx.Expected.Headers {
		if got := r.header.Get(k); got != s.expand(want, plain) {
			return fmt.Errorf("header %s is %q, want %q", k, got, want)
		}
	}
	if fx.Expected.Match != nil {
		if why := s.subset(fx.Expected.Match.Value, r.body, "$"); why != "" {
			return fmt.Errorf("%s: %s", why, r.raw)
		}
	}
	for _, c := range fx.Compare {
		got, want := r.text(strings.TrimPrefix(c[0], "$.")), s.expand(c[2], plain)
		if got == "" || strings.Contains(want, "${") || !map[string]bool{">": got > want, "=": got == want, "!=": got != want}[c[1]] {
			return fmt.Errorf("%s is %q and not %s %q", c[0], got, c[1], want)
		}
	}
	return nil
}

// subset tells where want is not part of got, "" if it is.
func (s *stage) subset(want, got any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		g, isMap := got.(map[string]any)
		if !isMap {
			return at + " is no object"
		}
		for k, v := range w {
			if why := s.subset(v, g[k], at+"."+k); why != "" {
				return why
			}
		}
		return ""
	case []any:
		g, isList := got.([]any)
		if !isList || len(g) != len(w) {
			return at + " is another list"
		}
		for i := range w {
			if why := s.subset(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	case string:
		if got != s.expand(w, plain) {
			return fmt.Sprintf("%s is %v, want %s", at, got, s.expand(w, plain))
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// loadFixture reads one file of ours, every member of which must be known.
func loadFixture(path string) (fixture, error) {
	var fx fixture
	raw, err := os.ReadFile(path)
	if err != nil {
		return fx, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&fx); err != nil {
		return fx, fmt.Errorf("%s: %w", path, err)
	}
	if fx.Name == "" {
		return fx, errors.New(path + " has no name")
	}
	return fx, nil
}
