package acop

import (
	"fmt"
	"testing"

	core "signalbox/model/acop"
)

// TestRuleConditions judges one claim by one list of rules: every condition of a
// rule must hold, the first rule that fits decides, and a path lets only pass
// what lies whole in it (D-58).
func TestRuleConditions(t *testing.T) {
	t.Parallel()
	deny := core.GrantRule{Then: "deny"}
	cases := map[string]struct {
		rules []core.GrantRule
		item  m
		want  string // the reason, "" for a grant
	}{
		"no rule fits":                   {[]core.GrantRule{{WorkKind: core.KindReview, Then: "deny"}}, nil, ""},
		"kind":                           {[]core.GrantRule{{WorkKind: core.KindImplement, Then: "deny"}}, nil, "rule"},
		"priority":                       {[]core.GrantRule{{Priority: core.PriorityHigh, Then: "deny"}}, nil, "rule"},
		"another priority":               {[]core.GrantRule{{Priority: core.PriorityLow, Then: "deny"}}, nil, ""},
		"worker":                         {[]core.GrantRule{{Worker: "worker-http", Then: "deny"}}, nil, "rule"},
		"another worker":                 {[]core.GrantRule{{Worker: "worker-other", Then: "deny"}}, nil, ""},
		"kind, not priority":             {[]core.GrantRule{{WorkKind: core.KindImplement, Priority: core.PriorityLow, Then: "deny"}}, nil, ""},
		"kind and worker":                {[]core.GrantRule{{WorkKind: core.KindImplement, Worker: "worker-http", Then: "lead"}}, nil, "rule"},
		"the first counts":               {[]core.GrantRule{{WorkKind: core.KindImplement, Then: "auto"}, deny}, nil, ""},
		"the second counts":              {[]core.GrantRule{{WorkKind: core.KindReview, Then: "auto"}, deny}, nil, "rule"},
		"whole in the path":              {[]core.GrantRule{{Path: "docs/**", Then: "auto"}, deny}, m{"owned_paths": []string{"docs/a.md", "docs/b/c.md"}}, ""},
		"partly in the path":             {[]core.GrantRule{{Path: "docs/**", Then: "auto"}, deny}, m{"owned_paths": []string{"docs/a.md", "src/a.go"}}, "rule"},
		"not in the path":                {[]core.GrantRule{{Path: "docs/**", Then: "auto"}, deny}, m{"owned_paths": []string{"src/a.go"}}, "rule"},
		"no paths are in no path":        {[]core.GrantRule{{Path: "docs/**", Then: "auto"}, deny}, nil, "rule"},
		"one path is enough to deny":     {[]core.GrantRule{{Path: "infra/**", Then: "deny"}}, m{"owned_paths": []string{"docs/a.md", "infra/x.tf"}}, "rule"},
		"one path is enough for a lead":  {[]core.GrantRule{{Path: "infra/**", Then: "lead"}}, m{"owned_paths": []string{"docs/a.md", "infra/x.tf"}}, "rule"},
		"a folder like the path's":       {[]core.GrantRule{{Path: "infra/**", Then: "deny"}}, m{"owned_paths": []string{"infrastructure/x.tf"}}, ""},
		"a wider path is held back":      {[]core.GrantRule{{Path: "infra/**", Then: "deny"}}, m{"owned_paths": []string{"**"}}, "rule"},
		"said in a roundabout way":       {[]core.GrantRule{{Path: "infra/**", Then: "deny"}}, m{"owned_paths": []string{"./docs/../infra/x.tf"}}, "rule"},
		"below a path without a glob":    {[]core.GrantRule{{Path: "infra", Then: "deny"}}, m{"owned_paths": []string{"infra/x.tf"}}, "rule"},
		"out of the path again":          {[]core.GrantRule{{Path: "docs/**", Then: "auto"}, deny}, m{"owned_paths": []string{"docs/../src/a.go"}}, "rule"},
		"more than the path":             {[]core.GrantRule{{Path: "docs/*", Then: "auto"}, deny}, m{"owned_paths": []string{"docs/**"}}, "rule"},
		"shared with nobody":             {nil, m{"owned_paths": []string{"src/free.go"}}, ""},
		"shared with live work":          {nil, m{"owned_paths": []string{"live/a.go"}}, "overlap"},
		"a grant does not let overlap":   {[]core.GrantRule{{Path: "live/**", Then: "auto"}}, m{"owned_paths": []string{"live/a.go"}}, "overlap"},
		"denied before it is overlapped": {[]core.GrantRule{{Path: "live/**", Then: "deny"}}, m{"owned_paths": []string{"live/a.go"}}, "rule"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t, func(o *Options) { o.Config.GrantMode, o.Config.Rules = core.GrantRules, c.rules })
			b.put("live", m{"owned_paths": []string{"live/a.go"}}, nil)
			b.want(b.do("POST", "claims", "lead-01", claimBody("live", "worker-other", 600)), 201, "")
			b.put("w", c.item, nil)
			r := b.do("POST", "claims", "worker-http", claimBody("w", "worker-http", 60))
			if c.want == "" {
				b.want(r, 201, "")
				return
			}
			b.want(r, 409, "gate_blocked")
			if got := r.text("error.details.reason"); got != c.want {
				t.Errorf("blocked for %s, want %s: %s", got, c.want, r.raw)
			}
			if st := b.status("w"); st != "ready" {
				t.Errorf("the item is %s", st)
			}
			waits := fmt.Sprint(b.item("w").at("item.intents")) != "<nil>"
			denied := len(c.rules) > 0 && c.rules[len(c.rules)-1].Then == "deny" && c.want == "rule"
			if waits == denied {
				t.Errorf("a request waits for a lead: %v", waits)
			}
			b.want(b.do("POST", "claims", "lead-01", claimBody("w", "worker-http", 60)), 201, "") // a lead asks nobody
		})
	}
}
