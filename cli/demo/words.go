package demo

import (
	"fmt"
	"math/rand/v2"

	"signalbox/model/acop"
)

// steps are what a worker says it is doing, by kind of work.
var steps = map[acop.WorkKind][]string{
	acop.KindImplement: {"reading %s", "sketching the types", "writing the first test", "writing %s", "running the package tests",
		"3 of 14 tests fail", "fixing the zero case", "running all tests", "tidying names", "writing the commit message"},
	acop.KindRefactor: {"reading %s", "listing the callers", "moving code, step 1 of 3", "moving code, step 2 of 3", "moving code, step 3 of 3",
		"running all tests", "comparing the benchmarks"},
	acop.KindReview:   {"reading the diff of %s", "checking the error paths", "checking the tests", "writing remarks", "second pass"},
	acop.KindValidate: {"setting up fixtures for %s", "running round 1 of 5", "running round 3 of 5", "running round 5 of 5", "collecting evidence"},
	acop.KindRepair: {"reproducing in %s", "reproduced, 1 in 40 runs", "bisecting", "found the commit", "writing a failing test",
		"fixing", "running the test 200 times", "running all tests"},
	acop.KindHandoffFollowup: {"reading the hand-off", "reading %s", "writing", "checking links", "last read"},
	acop.KindMergePrepare:    {"fetching branches", "rebasing %s", "resolving one conflict", "running the gates", "asking for the last review"},
}

// step is what a worker says at step n of total.
func step(kind acop.WorkKind, where string, n, total int) string {
	list := steps[kind]
	if len(list) == 0 {
		return "working"
	}
	i := min(n*len(list)/max(total, 1), len(list)-1)
	if s := list[i]; containsVerb(s) {
		return fmt.Sprintf(s, where)
	} else {
		return s
	}
}

func containsVerb(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '%' && s[i+1] == 's' {
			return true
		}
	}
	return false
}

// remark is one thing a worker may write on the blackboard.
type remark struct {
	kind       acop.EntryKind
	summary    string
	details    string
	confidence float64 // 0: none
}

var remarks = []remark{
	{acop.EntryFinding, "the lock is held over the network call", "Seen in the profile: 38 % of the time in Lock. The call can move out.", 0.9},
	{acop.EntryFinding, "the test passes alone and fails after TestRefund", "Shared state in the fixture; the order matters.", 0.85},
	{acop.EntryHypothesis, "the flake comes from the clock, not from the network", "Fails only when the second rolls over.", 0.55},
	{acop.EntryHypothesis, "an index on (account, day) would be enough", "", 0.6},
	{acop.EntryRisk, "this changes the order of events for old clients", "Two partners sort by position. Announce it before the release.", 0.7},
	{acop.EntryRisk, "the migration locks the table for about 40 s", "Fine at night, not at noon.", 0.8},
	{acop.EntryPartialResult, "half of the cases are green", "The rest waits for the fixture with three currencies.", 0},
	{acop.EntryPartialResult, "benchmark: 1 840 to 2 610 postings/s", "", 0.95},
	{acop.EntryConstraint, "amounts must stay integers on this path", "A float would break the audit chain.", 1},
	{acop.EntryIntegrationNote, "rebase after the checkout form lands", "Same file, different functions.", 0},
	{acop.EntryReviewRequest, "please look at the retry rule", "Is it right to give up after 3 tries when the card network is down?", 0},
	{acop.EntryDecision, "I keep the old name in the API", "Renaming it would break two partners for no gain.", 0},
}

func someRemark(rng *rand.Rand) remark { return remarks[rng.IntN(len(remarks))] }
