package acop

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

const fixtureItem = "work:fixture:resource-hub-http"

func loadFixtures(t *testing.T) map[string]fixture {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/spec/acop/fixtures/*.json")
	if len(files) == 0 {
		t.Skip("the published fixtures are not beside this checkout")
	}
	all := make(map[string]fixture, len(files))
	for _, f := range files {
		fx, err := loadFixture(f) // ours is their format with more in it
		if err == nil {
			err = fx.vacuous()
		}
		if err != nil {
			t.Fatal(err)
		}
		all[fx.Name] = fx
	}
	if len(all) != 18 {
		t.Fatalf("%d fixtures, want 18", len(all))
	}
	return all
}

// fixtureRun plays the published fixtures on one owner.
type fixtureRun struct{ *stage }

func newFixtureRun(t *testing.T, all map[string]fixture) *fixtureRun {
	return &fixtureRun{newStage(t, all, nil)}
}

func (f *fixtureRun) play(name string) {
	f.b.t.Helper()
	fx, known := f.all[name]
	if !known {
		f.b.t.Fatalf("no fixture %s", name)
	}
	if err := f.stage.play(&fx); err != nil {
		f.b.t.Fatal(err)
	}
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
