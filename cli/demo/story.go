package demo

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"signalbox/model/acop"
)

// scene is one work item of the story.
type scene struct {
	id, kind, prio, title, summary string
	repo, branch                   string
	paths, symbols                 []string
	needs                          []string // ids of items it depends on
	checks                         []string // "kind: summary" of its requirements
	forWhom                        string
	ask                            bool   // starts as requires_attention
	waits                          string // starts blocked on an external decision about this
	review                         string // starts blocked on a review of this
	score                          float64
}

const (
	repoLedger = "harbor/ledger"
	repoWeb    = "harbor/web"
	repoAPI    = "harbor/api"
)

// opening is the first part of the story: a parcel company moves its payments
// from a nightly batch to a live ledger.
var opening = []scene{
	{id: "work:auth:token-rotation", kind: "refactor", prio: "high", ask: true, score: 0.91,
		title: "Two ways to rotate signing keys; which one may break v1 clients?",
		summary: "Overlapping keys keep v1 clients working but double the verification cost for 30 days.\n" +
			"A hard switch is simpler and cheaper, and logs out everybody who still runs app 3.x (about 4 %).",
		repo: repoAPI, branch: "feat/rotate-keys", paths: []string{"auth/**"}, symbols: []string{"auth.Verifier", "auth.KeySet"}},
	{id: "work:ledger:currency", kind: "implement", prio: "urgent", ask: true, score: 0.95,
		title: "Store amounts in minor units or as decimals?",
		summary: "Minor units are exact for EUR and USD; KWD has three digits, and the tariff table holds fractions of a cent.\n" +
			"The choice goes into the first migration and is costly to change.",
		repo: repoLedger, branch: "feat/amounts", paths: []string{"ledger/amount/**"}, symbols: []string{"amount.Amount"}},
	{id: "work:ledger:rounding-tests", kind: "validate", prio: "medium", score: 0.70, forWhom: "agent:badger",
		title: "Table tests for rounding of shared postage", repo: repoLedger, branch: "test/rounding",
		paths: []string{"ledger/postage/*_test.go"}, checks: []string{"test: rounding table passes", "coverage: postage at least 90 %"}},
	{id: "work:web:checkout-form", kind: "implement", prio: "high", score: 0.84, forWhom: "agent:otter",
		title: "Checkout form: address before payment", repo: repoWeb, branch: "feat/checkout-v2",
		paths: []string{"web/checkout/**"}, symbols: []string{"CheckoutForm"}, checks: []string{"test: form specs pass"}},
	{id: "work:web:checkout-a11y", kind: "repair", prio: "medium", score: 0.66, forWhom: "agent:magpie",
		title: "Checkout: labels for screen readers", repo: repoWeb, branch: "fix/checkout-a11y",
		paths: []string{"web/checkout/form/**"}, symbols: []string{"CheckoutForm"}, checks: []string{"audit: no axe violations"}},
	{id: "work:api:idempotency", kind: "implement", prio: "urgent", score: 0.93,
		title: "Charge a card once per Idempotency-Key", repo: repoAPI, branch: "feat/idempotency",
		paths: []string{"api/charge/**"}, symbols: []string{"charge.Handler"}, checks: []string{"test: 200 parallel charges, one booking", "review: key scope"}},
	{id: "work:ledger:double-entry", kind: "implement", prio: "urgent", score: 0.90,
		title: "Book every movement twice", repo: repoLedger, branch: "feat/double-entry",
		paths: []string{"ledger/book/**"}, symbols: []string{"book.Post"}, checks: []string{"test: sums are zero", "bench: 2 000 postings/s"}},
	{id: "work:ledger:schema", kind: "implement", prio: "high", score: 0.80, needs: []string{"work:ledger:currency"},
		title: "First migration of the ledger tables", repo: repoLedger, branch: "feat/schema",
		paths: []string{"ledger/migrations/**"}, checks: []string{"test: up and down"}},
	{id: "work:ledger:import", kind: "implement", prio: "medium", score: 0.62, needs: []string{"work:ledger:schema", "work:ledger:double-entry"},
		title: "Import two years of the nightly batch", repo: repoLedger, branch: "feat/import",
		paths: []string{"ledger/import/**"}, checks: []string{"validate: totals match the batch to the cent"}},
	{id: "work:ledger:close-day", kind: "implement", prio: "medium", score: 0.58, needs: []string{"work:ledger:import"},
		title: "Close the day without stopping the day", repo: repoLedger, branch: "feat/close-day", paths: []string{"ledger/close/**"}},
	{id: "work:auth:docs", kind: "handoff_followup", prio: "low", score: 0.40, needs: []string{"work:auth:token-rotation"},
		title: "Tell client authors about key rotation", repo: repoAPI, branch: "docs/rotate-keys", paths: []string{"docs/auth.md"}},
	{id: "work:auth:session-leak", kind: "repair", prio: "urgent", score: 0.97,
		title: "Sessions survive a password change", repo: repoAPI, branch: "fix/session-leak",
		paths: []string{"auth/session/**"}, symbols: []string{"session.Store"}, checks: []string{"test: old session is refused"}},
	{id: "work:api:rate-limits", kind: "implement", prio: "medium", score: 0.55, waits: "what a partner may send per second",
		title: "Rate limits per partner", repo: repoAPI, branch: "feat/limits", paths: []string{"api/limit/**"}},
	{id: "work:api:webhooks", kind: "implement", prio: "high", score: 0.72,
		title: "Webhooks that can be replayed", repo: repoAPI, branch: "feat/webhooks",
		paths: []string{"api/hooks/**"}, symbols: []string{"hooks.Dispatcher"}, checks: []string{"test: replay after 24 h"}},
	{id: "work:api:charge-errors", kind: "refactor", prio: "medium", score: 0.60,
		title: "One error vocabulary for charges", repo: repoAPI, branch: "refactor/charge-errors",
		paths: []string{"api/charge/errors.go", "api/charge/handler.go"}, checks: []string{"test: golden errors"}},
	{id: "work:web:track-map", kind: "implement", prio: "medium", score: 0.57,
		title: "Live map of a parcel", repo: repoWeb, branch: "feat/map", paths: []string{"web/track/**"}, checks: []string{"test: map specs pass"}},
	{id: "work:web:dark-mode", kind: "implement", prio: "low", score: 0.33,
		title: "Dark mode that follows the system", repo: repoWeb, branch: "feat/dark", paths: []string{"web/theme/**"}},
	{id: "work:web:bundle", kind: "refactor", prio: "low", score: 0.36,
		title: "Half the bundle of the landing page", repo: repoWeb, branch: "perf/bundle", paths: []string{"web/build/**"}, checks: []string{"bench: below 180 kB"}},
	{id: "work:web:receipt-pdf", kind: "implement", prio: "medium", score: 0.52, needs: []string{"work:api:idempotency"},
		title: "Receipts as PDF", repo: repoWeb, branch: "feat/receipts", paths: []string{"web/receipt/**"}},
	{id: "work:api:review-limits", kind: "review", prio: "high", score: 0.77, review: "the partner contract in docs/partners.md",
		title: "Review: is the fallback tariff legal in CH?", repo: repoAPI, branch: "feat/limits", paths: []string{"api/tariff/**"}},
	{id: "work:ledger:audit-trail", kind: "validate", prio: "high", score: 0.75, forWhom: "agent:moth",
		title: "Prove that no posting can vanish", repo: repoLedger, branch: "test/audit",
		paths: []string{"ledger/audit/**"}, checks: []string{"test: kill -9 in a write loop", "test: checksum chain"}},
	{id: "work:ledger:post-perf", kind: "refactor", prio: "medium", score: 0.50,
		title: "Post in batches of 64", repo: repoLedger, branch: "perf/post",
		paths: []string{"ledger/book/post.go"}, symbols: []string{"book.Post"}, checks: []string{"bench: 5 000 postings/s"}},
	{id: "work:api:tariff-cache", kind: "implement", prio: "low", score: 0.38, forWhom: "agent:intern",
		title: "Cache tariffs for five minutes", repo: repoAPI, branch: "feat/tariff-cache", paths: []string{"api/tariff/cache/**"}, checks: []string{"test: stale after 5 min"}},
	{id: "work:web:refund-flow", kind: "implement", prio: "high", ask: true, score: 0.82,
		title: "Refund: to the card or as credit first?",
		summary: "Support wants credit first (fewer fees), legal says the card must be offered in the same step.\n" +
			"Both flows are drawn in web/refund/README.md.",
		repo: repoWeb, branch: "feat/refund", paths: []string{"web/refund/**"}},
	{id: "work:release:merge-4-2", kind: "merge_prepare", prio: "high", score: 0.68,
		needs: []string{"work:web:checkout-form", "work:api:idempotency", "work:auth:session-leak"},
		title: "Prepare the merge train for 4.2", repo: repoAPI, branch: "release/4.2", checks: []string{"validate: all gates green"}},
	{id: "work:release:notes-4-2", kind: "handoff_followup", prio: "low", score: 0.30, needs: []string{"work:release:merge-4-2"},
		title: "Release notes for 4.2", repo: repoAPI, branch: "release/4.2", paths: []string{"CHANGELOG.md"}},
}

// The parts that later scenes are made of.
var (
	laterAreas = []struct{ area, repo, path string }{
		{"checkout", repoWeb, "web/checkout/**"}, {"track", repoWeb, "web/track/**"}, {"receipt", repoWeb, "web/receipt/**"},
		{"charge", repoAPI, "api/charge/**"}, {"hooks", repoAPI, "api/hooks/**"}, {"tariff", repoAPI, "api/tariff/**"},
		{"session", repoAPI, "auth/session/**"}, {"book", repoLedger, "ledger/book/**"}, {"import", repoLedger, "ledger/import/**"},
		{"audit", repoLedger, "ledger/audit/**"},
	}
	laterDeeds = []struct{ kind, verb, title string }{
		{"repair", "flaky", "Flaky test in %s"}, {"repair", "leak", "Goroutines pile up in %s"},
		{"refactor", "split", "Split the long handler of %s"}, {"implement", "metrics", "Latency histogram for %s"},
		{"validate", "fuzz", "Fuzz the parser of %s"}, {"review", "review", "Review the error paths of %s"},
		{"implement", "retry", "Retry with backoff in %s"}, {"refactor", "names", "Plain names in %s"},
	}
	laterAsks = []string{
		"%s: drop the old endpoint now or after the release?",
		"%s: is a breaking change of the event format acceptable?",
		"%s: two fixes disagree, which one stays?",
		"%s: may I add a dependency for this?",
	}
	priorities = []string{"low", "medium", "medium", "high", "urgent"}
)

// teller tells the story: first the opening, then scenes without end. The same
// seed tells the same story.
type teller struct {
	rng *rand.Rand
	n   int
	ids []string // of the latest scenes, to depend on
}

func newTeller(seed uint64) *teller { return &teller{rng: rand.New(rand.NewPCG(seed, 1))} }

// next gives the next scene; ask allows one that requires attention.
func (t *teller) next(ask bool) scene {
	t.n++
	if t.n <= len(opening) {
		s := opening[t.n-1]
		t.remember(s.id)
		return s
	}
	area := laterAreas[t.rng.IntN(len(laterAreas))]
	deed := laterDeeds[t.rng.IntN(len(laterDeeds))]
	s := scene{
		id:    fmt.Sprintf("work:%s:%s-%d", area.area, deed.verb, t.n),
		kind:  deed.kind,
		prio:  priorities[t.rng.IntN(len(priorities))],
		title: fmt.Sprintf(deed.title, area.area), repo: area.repo, branch: fmt.Sprintf("%s/%s-%d", deed.verb, area.area, t.n),
		paths: []string{strings.TrimSuffix(area.path, "**") + fmt.Sprintf("%s_%d.go", deed.verb, t.n)}, score: float64(30+t.rng.IntN(65)) / 100,
	}
	// All dice fall in every case, so that one answer does not move the others.
	dice := [5]int{t.rng.IntN(100), t.rng.IntN(100), t.rng.IntN(100), t.rng.IntN(len(laterAsks)), t.rng.IntN(100)}
	if dice[4] < 20 { // a wide claim, that others' work will overlap with
		s.paths = []string{area.path}
	}
	if dice[0] < 65 {
		s.checks = []string{"test: " + area.area + " specs pass"}
	}
	switch {
	case dice[1] < 18 && ask:
		s.ask, s.title = true, fmt.Sprintf(laterAsks[dice[3]], area.area)
	case dice[1] >= 18 && dice[1] < 22:
		s.waits = "a date from the operations team"
	case dice[1] >= 22 && dice[1] < 38 && len(t.ids) > 0:
		s.needs = []string{t.ids[t.n%len(t.ids)]}
	case dice[2] < 15:
		s.forWhom = castOf[dice[2]%len(castOf)].id
	}
	t.remember(s.id)
	return s
}

func (t *teller) remember(id string) {
	t.ids = append(t.ids, id)
	if len(t.ids) > 8 {
		t.ids = t.ids[1:]
	}
}

// document turns a scene into what a producer submits. open tells which of the
// items it needs are not accepted yet.
func (s *scene) document(producer string, now time.Time, open func(id string) bool) *acop.Document {
	d := &acop.Document{
		ProtocolVersion: acop.ProtocolVersion,
		WorkItem: acop.WorkItem{
			WorkItemID: s.id, ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.WorkKind(s.kind),
			CreatedAtUTC: acop.NewTime(now), Producer: producer, Status: acop.StatusReady, Priority: acop.Priority(s.prio),
			ActionabilityScore: s.score, Title: s.title, Summary: s.summary, TargetRepoID: s.repo, TargetBranch: s.branch,
			TargetAgentUID: s.forWhom, OwnedPaths: s.paths, OwnedSymbols: s.symbols,
		},
	}
	yes := true
	for _, n := range s.needs {
		if open(n) {
			d.Blockers = append(d.Blockers, acop.Blocker{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityMedium,
				Summary: "waits for " + n, DependsOnWorkItemID: n})
		}
	}
	if s.waits != "" {
		d.Blockers = append(d.Blockers, acop.Blocker{BlockerCode: acop.BlockerExternalDecision, Severity: acop.SeverityHigh,
			Summary: "nobody has decided " + s.waits, DependsOnExternalDecision: &yes, SuggestedResolution: "ask the product owner, then unblock"})
	}
	if s.review != "" {
		d.Blockers = append(d.Blockers, acop.Blocker{BlockerCode: acop.BlockerReviewRequired, Severity: acop.SeverityMedium,
			Summary: "needs a review of " + s.review, SuggestedResolution: "read it, note the outcome, unblock"})
	}
	if len(d.Blockers) > 0 {
		d.WorkItem.Status = acop.StatusBlocked
	}
	if s.ask {
		d.WorkItem.Status = acop.StatusRequiresAttention
	}
	for n, c := range s.checks {
		d.ValidationRequirements = append(d.ValidationRequirements, requirement(n, c))
	}
	return d
}

func requirement(n int, check string) acop.ValidationRequirement {
	kind, summary := "test", check
	for i := range check {
		if check[i] == ':' {
			kind, summary = check[:i], check[i+2:]
			break
		}
	}
	return acop.ValidationRequirement{RequirementID: fmt.Sprintf("req:%d", n+1), Kind: kind, Summary: summary}
}
