package filter

import (
	"testing"
	"time"

	"signalbox/model/acop"
)

func TestMatch(t *testing.T) {
	now := time.Date(2026, 5, 16, 14, 0, 0, 0, time.UTC)
	r := &Row{
		Text:   [4]string{"Rotate Tokens", "two ways; which one?", "Größe"},
		Status: "requires_attention", Repo: "api", Branch: "main", Agent: "worker-7", Kind: "refactor",
		Priority: "high", Item: "work:auth:token-rotation",
		Blockers: []acop.Blocker{{BlockerCode: "external_decision_pending", DependsOnWorkItemID: "work:docs"}},
		Since:    now.Add(-2 * time.Hour),
	}
	for line, want := range map[string]bool{
		"": true, "rotate": true, "ROTATE tokens": true, "rotate nothing": false, "-nothing": true, "-rotate": false,
		"status:ready": false, "status:attention": true, "status:ready,attention": true, "-status:ready": true,
		"repo:api kind:ref": true, "verb:ref author:worker-7": true, "Actor:nobody": false, "agent:worker-7": true, "agent:worker-8": false, "blocker:decision": true,
		"blocker:docs": true, "blocker:branch": false, "older:1h": true, "older:3h": false, "newer:3h": true,
		"older:soon": true, "work:auth": true, "work:db": false, `"which one"`: true, `"one which"`: false,
		"status:": true, "GRÖSSE": false, "größe": true, "GRÖßE": true, "priority:high item:rotation": true, "-": true,
	} {
		if got := Parse(line).Match(r, now); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
	if Parse("older:soon").Problem == "" {
		t.Error("a span that cannot be read must be told")
	}
	if !Parse("older:1h").Timed() || Parse("x").Timed() || !Parse("").Empty() {
		t.Error("Timed or Empty is wrong")
	}
}

func BenchmarkMatch(b *testing.B) {
	r := &Row{Text: [4]string{"Rotate the tokens of the service", "a longer summary of what there is to do"}, Item: "work:auth:token-rotation", Status: "ready", Repo: "api"}
	q := Parse("status:ready nothing")
	for b.Loop() {
		q.Match(r, time.Time{})
	}
}

// A span that no clock can hold is told as such, not taken for a short one.
func TestSpansHaveAnEnd(t *testing.T) {
	for _, line := range []string{"older:999999w", "newer:1000000d", "older:16000w", "older:nanw", "older:-1d", "older:0s"} {
		if q := Parse(line); q.Problem == "" || !q.Empty() {
			t.Errorf("%s is taken: %+v", line, q)
		}
	}
	if q := Parse("older:15000w"); q.Problem != "" || q.terms[0].span != 15000*7*24*time.Hour {
		t.Errorf("%+v", q)
	}
}
