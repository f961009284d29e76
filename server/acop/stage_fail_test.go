package acop

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestFixturesCanFail spoils a fixture in one place after the other: the runner
// or the tables notice each.
func TestFixturesCanFail(t *testing.T) {
	t.Parallel()
	all := ownFixtures(t)
	const name, row = "c3.lease_expired", "C.3 lease_expired"
	cells := map[string]cell{row: tables()[row]}
	load := func() (*fixture, *fixture) {
		var fx fixture
		raw, err := json.Marshal(all[name])
		if err == nil {
			err = json.Unmarshal(raw, &fx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return &fx, &fx.Steps[len(fx.Steps)-1]
	}
	errorOf := func(fx *fixture) map[string]any { return asMap(asMap(fx.Expected.Match.Value)["error"]) }
	// judged is what play, form and tables say together.
	judged := func(fx *fixture) string {
		if err := fx.vacuous(); err != nil {
			return err.Error()
		}
		s := newStage(t, map[string]fixture{"given.claimed": all["given.claimed"], fx.Name: *fx}, fx.Owner)
		if err := s.playWhole(fx.Name); err != nil {
			return err.Error()
		}
		return strings.Join(uncovered(cells, s.passed), "; ")
	}
	for what, c := range map[string]struct {
		spoil func(fx, last *fixture)
		says  string
	}{
		"nothing":          {func(_, _ *fixture) {}, ""},
		"status":           {func(_, l *fixture) { l.Expected.Status = 403 }, "want 403"},
		"code":             {func(_, l *fixture) { errorOf(l)["code"] = "claim_revoked" }, "want claim_revoked"},
		"details":          {func(_, l *fixture) { asMap(errorOf(l)["details"])["work_item_status"] = "blocked" }, "want blocked"},
		"header":           {func(_, l *fixture) { l.Expected.Headers = map[string]string{"Retry-After": "5"} }, "Retry-After"},
		"state after":      {func(_, l *fixture) { asMap(asMap(l.After[0].Match)["claim"])["claim_status"] = "active" }, "want active"},
		"captured":         {func(_, l *fixture) { l.Captures = map[string]string{"x": "$.claim.claim_id"} }, "nothing to capture"},
		"compared":         {func(_, l *fixture) { l.Compare = [][3]string{{"$.error.code", "!=", "lease_expired"}} }, "and not !="},
		"unknown variable": {func(_, l *fixture) { l.Compare = [][3]string{{"$.error.code", "!=", "${none}"}} }, "and not !="},
		"time":             {func(fx, _ *fixture) { fx.Steps[0].Advance = 599 }, "status 200"},
		"no status":        {func(_, l *fixture) { l.Expected.Status = 0 }, "expects no status"},
		"no code":          {func(_, l *fixture) { delete(errorOf(l), "code") }, "without a code"},
		"no match":         {func(_, l *fixture) { l.Expected.Match = nil }, "without a code"},
		"empty match":      {func(_, l *fixture) { l.Expected.Match.Value = m{} }, "compares its body with nothing"},
		"no look":          {func(_, l *fixture) { l.After = nil }, "does not look at what is left"},
		"empty look":       {func(_, l *fixture) { l.After[0].Match = m{} }, "expects nothing"},
		"no detail":        {func(_, l *fixture) { delete(asMap(errorOf(l)["details"]), "claim_id") }, "does not expect details.claim_id"},
		"no cover":         {func(_, l *fixture) { l.Covers = nil }, "no fixture that passed covers it"},
		"unknown row":      {func(_, l *fixture) { l.Covers = append(l.Covers, "C.9") }, "no row of the tables"},
		"nothing asserted": {func(fx, l *fixture) {
			fx.Steps = []fixture{{Name: "ask", Request: l.Request, Expected: &fixtureResponse{Status: 200}}}
		}, "asserts nothing"},
		"what a refusal changes": {func(fx, l *fixture) { // an owner that was started anew has seen nobody yet
			again := *l
			again.Request = &fixtureRequest{Method: "POST", Path: "claims", Headers: map[string]string{"Authorization": "Bearer ${worker_other_token}"},
				Body: json.RawMessage(mustJSON(claimBody("work:case", "worker-other", 60)))}
			again.Fault, again.Covers, again.After = "log_closed", nil, []fixtureRead{{Path: "agents", Match: m{"protocol_version": "acop/1.0"}}}
			again.Expected = &fixtureResponse{Status: 503, Match: &fixtureMatch{Kind: "subset", Value: m{"error": m{"code": "backend_unavailable"}}}}
			fx.Steps = append(fx.Steps, again)
		}, "the refusal changed agents"},
		"unknown dependency": {func(fx, _ *fixture) { fx.DependsOn = []string{"given.nothing"} }, "there is no fixture given.nothing"},
	} {
		t.Run(what, func(t *testing.T) {
			fx, last := load()
			c.spoil(fx, last)
			if got := judged(fx); !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
				t.Errorf("says %q, want something with %q", got, c.says)
			}
		})
	}
}
