package acop

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fixture is one of the published conformance cases.
type fixture struct {
	Name    string `json:"name"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"request"`
	Expected struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Match   struct {
			Value any `json:"value"`
		} `json:"body_match"`
	} `json:"expected_response"`
	Captures map[string]string `json:"captures"`
}

const fixtureItem = "work:fixture:resource-hub-http"

func loadFixtures(t *testing.T) map[string]fixture {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/spec/acop/fixtures/*.json")
	if len(files) == 0 {
		t.Skip("the published fixtures are not beside this checkout")
	}
	all := make(map[string]fixture, len(files))
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var fx fixture
		if err := json.Unmarshal(raw, &fx); err != nil {
			t.Fatal(f, err)
		}
		all[fx.Name] = fx
	}
	if len(all) != 18 {
		t.Fatalf("%d fixtures, want 18", len(all))
	}
	return all
}

// fixtureRun plays fixtures against one owner with shared captures.
type fixtureRun struct {
	b    *box
	all  map[string]fixture
	vars map[string]string
	// salt keeps idempotency keys apart when one owner sees a fixture twice.
	salt string
	seen map[string]bool
}

func newFixtureRun(t *testing.T, all map[string]fixture) *fixtureRun {
	b := newBox(t, nil)
	return &fixtureRun{b: b, all: all, seen: make(map[string]bool), vars: map[string]string{
		"worker_http_token": b.tokens["worker-http"], "worker_other_token": b.tokens["worker-other"],
		"lead_token": b.tokens["lead-01"], "producer_token": b.tokens["fixture-producer"],
	}}
}

func (f *fixtureRun) expand(s string) string {
	for k, v := range f.vars {
		s = strings.ReplaceAll(s, "${"+k+"}", v)
	}
	return s
}

func (f *fixtureRun) play(name string) {
	f.b.t.Helper()
	fx, known := f.all[name]
	if !known {
		f.b.t.Fatalf("no fixture %s", name)
	}
	f.seen[name] = true
	hs := header{}
	for k, v := range fx.Request.Headers {
		hs[k] = f.expand(v)
		if k == "Idempotency-Key" {
			hs[k] += f.salt
		}
	}
	r := f.b.do(fx.Request.Method, f.expand(fx.Request.Path), "", f.expand(string(fx.Request.Body)), hs)
	if r.status != fx.Expected.Status {
		f.b.t.Fatalf("%s: status %d, want %d: %s", name, r.status, fx.Expected.Status, r.raw)
	}
	for k, want := range fx.Expected.Headers {
		if got := r.header.Get(k); got != want {
			f.b.t.Errorf("%s: header %s is %q, want %q", name, k, got, want)
		}
	}
	if why := f.subset(fx.Expected.Match.Value, r.body, "$"); why != "" {
		f.b.t.Errorf("%s: %s: %s", name, why, r.raw)
	}
	for variable, path := range fx.Captures {
		f.vars[variable] = r.text(strings.TrimPrefix(path, "$."))
	}
}

// subset tells where want is not part of got, "" if it is.
func (f *fixtureRun) subset(want, got any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		g, isMap := got.(map[string]any)
		if !isMap {
			return at + " is no object"
		}
		for k, v := range w {
			if why := f.subset(v, g[k], at+"."+k); why != "" {
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
			if why := f.subset(w[i], g[i], fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	case string:
		if got != f.expand(w) {
			return fmt.Sprintf("%s is %v, want %s", at, got, f.expand(w))
		}
		return ""
	}
	if want != got {
		return fmt.Sprintf("%s is %v, want %v", at, got, want)
	}
	return ""
}

// TestFixturesInBranches plays the published fixtures, one fresh owner per
// branch (H-086..H-088, D-63).
func TestFixturesInBranches(t *testing.T) {
	t.Parallel()
	all := loadFixtures(t)
	seen := make(map[string]bool)
	branches := map[string]func(*fixtureRun){
		"to acceptance": func(f *fixtureRun) {
			for _, n := range []string{"work-item-create.success", "work-item-create.idempotent", "claim-grant.success", "claim-grant.conflict",
				"claim-renew.success", "claim-renew.unauthorized"} {
				f.play(n)
			}
			f.vars["active_claim_id"] = f.vars["claim_id"]
			f.play("claim-complete.no-evidence")
			f.play("claim-complete.success")
			f.play("accept-handoff.success")
		},
		"release": func(f *fixtureRun) {
			for _, n := range []string{"work-item-create.success", "claim-grant.success", "claim-release.success", "claim-release.idempotent",
				"claim-renew.unauthorized"} {
				f.play(n)
			}
		},
		"expiry": func(f *fixtureRun) {
			f.play("work-item-create.success")
			f.vars["expired_claim_id"] = f.b.claim(fixtureItem, "worker-http", 1)
			f.b.clock.advance(time.Second)
			f.play("claim-renew.expired")
		},
		"the rest": func(f *fixtureRun) {
			for _, n := range []string{"auth.unauthenticated", "protocol-version.rejected", "accept-handoff.not-found",
				"work-item-create.schema-violation", "work-item-create.success", "blackboard-post.success", "blackboard-post.with-supersede"} {
				f.play(n)
			}
			f.b.want(f.b.do("GET", "work-items/work:fixture:bad-schema", "reader-01", nil), http.StatusNotFound, "work_item_not_found")
		},
	}
	for name, play := range branches {
		t.Run(name, func(t *testing.T) {
			f := newFixtureRun(t, all)
			play(f)
			for n := range f.seen {
				seen[n] = true
			}
		})
	}
	for n := range all {
		if !seen[n] {
			t.Errorf("fixture %s was not played", n)
		}
	}
}

// TestFixturesOnOneOwner plays them all on one owner, with changed keys (D-63).
func TestFixturesOnOneOwner(t *testing.T) {
	t.Parallel()
	f := newFixtureRun(t, loadFixtures(t))
	for _, n := range []string{"auth.unauthenticated", "protocol-version.rejected", "work-item-create.success", "work-item-create.idempotent",
		"blackboard-post.success", "blackboard-post.with-supersede", "claim-grant.success", "claim-grant.conflict", "claim-renew.success",
		"claim-release.success", "claim-release.idempotent"} {
		f.play(n)
	}
	f.vars["expired_claim_id"] = f.b.claim(fixtureItem, "worker-http", 1)
	f.b.clock.advance(time.Second)
	f.play("claim-renew.expired")
	f.salt = "-again"
	f.play("claim-grant.success")
	f.vars["active_claim_id"] = f.vars["claim_id"]
	for _, n := range []string{"claim-renew.unauthorized", "claim-complete.no-evidence", "claim-complete.success", "accept-handoff.success",
		"accept-handoff.not-found", "work-item-create.schema-violation"} {
		f.play(n)
	}
	for n := range f.all {
		if !f.seen[n] {
			t.Errorf("fixture %s was not played", n)
		}
	}
}
