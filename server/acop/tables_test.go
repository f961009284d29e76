package acop

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	core "signalbox/model/acop"
)

// cell is one case of the tables C.1 to C.3: who asks for what in which state,
// what is answered, and what must be looked at afterwards.
type cell struct {
	status  int
	code    core.Code
	looks   []string // members that the look afterwards must hold
	details []string // members that the refusal's details must have
	hint    bool     // the refusal says when to ask again, in header and body
}

// claimVerbs is table C.1. Whoever is not the holder and does not act for the
// holder hears nothing of the claim's state.
func claimVerbs() map[string]cell {
	ends := map[string]core.Code{"released": core.CodeClaimReleased, "completed": core.CodeClaimReleased, "revoked": core.CodeClaimRevoked,
		"expired": core.CodeLeaseExpired}
	holders := []string{"holder", "lead", "orchestrator for the holder"}
	strangers := map[string]core.Code{"other worker": core.CodeUnauthorizedWorker, "producer": core.CodeUnauthorizedWorker,
		"lead for another worker": core.CodeUnauthorizedWorker, "holder under another name": core.CodeForbidden,
		"stranger under the holder's name": core.CodeForbidden, "reader": core.CodeForbidden}
	state := []string{"claim.claim_status", "work_item_status"}
	out := make(map[string]cell)
	for _, verb := range []string{"renew", "release", "complete"} {
		for _, st := range append(slices.Collect(maps.Keys(ends)), "active") {
			for _, who := range holders {
				c := cell{status: http.StatusOK, looks: state}
				if code := ends[st]; code != "" && !(verb == "release" && code == core.CodeClaimReleased) {
					c.status, c.code = http.StatusConflict, code
				}
				out[verb+"/"+st+"/"+who] = c
				if verb == "complete" && st == "active" {
					missing := cell{409, core.CodeValidationRequired, state, []string{"missing_requirement_ids"}, false}
					out[verb+"/"+st+"/"+who+" without evidence"], out[verb+"/"+st+"/"+who+" with part of the evidence"] = missing, missing
				}
			}
			for who, code := range strangers {
				out[verb+"/"+st+"/"+who] = cell{status: http.StatusForbidden, code: code, looks: state}
			}
		}
		for _, who := range []string{"worker", "lead", "orchestrator for a worker", "reader"} {
			out[verb+"/unknown/"+who] = cell{status: http.StatusNotFound, code: core.CodeClaimNotFound, looks: []string{"error.code"}}
		}
		out[verb+"/unknown/worker under another name"] = cell{status: http.StatusForbidden, code: core.CodeForbidden, looks: []string{"error.code"}}
	}
	out["release/released/holder while another worker holds the item"] = cell{status: http.StatusOK, looks: state}
	return out
}

// itemRows are the rows of table C.2. held: a live claim is on the item; over: a
// claim past its end is, and what the item becomes with that.
var itemRows = map[string]struct {
	status core.Status
	held   bool
	over   bool
}{
	"unknown": {}, "ready": {status: core.StatusReady}, "requires_attention": {status: core.StatusRequiresAttention},
	"blocked": {status: core.StatusBlocked}, "completed": {status: core.StatusCompleted}, "accepted": {status: core.StatusAccepted},
	"released": {status: core.StatusReleased}, "consumed": {status: core.StatusConsumed}, "cancelled": {status: core.StatusCancelled},
	"superseded": {status: core.StatusSuperseded},
	"claimed":    {status: core.StatusClaimed, held: true}, "in_progress": {status: core.StatusInProgress, held: true},
	"claimed past expiry": {status: core.StatusReady, over: true}, "in_progress past expiry": {status: core.StatusReady, over: true},
	"claimed past expiry, blocked": {status: core.StatusBlocked, over: true}, "in_progress past expiry, blocked": {status: core.StatusBlocked, over: true},
}

// itemVerbs is table C.2.
func itemVerbs() map[string]cell {
	out := make(map[string]cell)
	for name, row := range itemRows {
		look := []string{"item.work_item.status"}
		refused := cell{status: http.StatusConflict, code: core.CodeNotActionable, looks: look, details: []string{"work_item_status"}}
		switch row.status {
		case "":
			look = []string{"error.code"}
			refused = cell{status: http.StatusNotFound, code: core.CodeItemNotFound, looks: look}
		case core.StatusCancelled:
			refused.code = core.CodeItemCancelled
		case core.StatusSuperseded:
			refused.code = core.CodeItemSuperseded
		}
		claimed, accepted, posted := refused, refused, cell{status: http.StatusCreated, looks: append([]string{"entry.entry_id"}, look...)}
		switch {
		case row.held:
			claimed = cell{409, core.CodeClaimConflict, append([]string{"claim.claim_status"}, look...),
				[]string{"work_item_id", "current_claim_id", "current_worker_agent_uid"}, false}
		case row.status == core.StatusReady:
			claimed = cell{status: http.StatusCreated, looks: append([]string{"item.lease.claim.claim_status"}, look...)}
		case row.status == core.StatusCompleted:
			accepted = cell{status: http.StatusOK, looks: append([]string{"item.acceptance.accepted_by"}, look...)}
		case row.status == "":
			posted = refused
		}
		if row.over && row.status == core.StatusReady {
			claimed.looks = append(claimed.looks, "claim.claim_status") // the old claim's
		}
		add := func(verb string, c cell, who ...string) {
			for _, w := range who {
				out[verb+"/"+name+"/"+w] = c
			}
		}
		no := cell{status: http.StatusForbidden, code: core.CodeForbidden, looks: look}
		reader := no
		if row.status == "" {
			reader = refused // what does not exist is told before the role (D-62)
		}
		for _, verb := range []string{"claim", "accept", "post"} {
			add(verb, reader, "reader")
		}
		add("claim", claimed, "worker", "lead for a worker", "orchestrator for a worker")
		if row.held || row.over {
			add("claim", claimed, "holder")
		}
		add("claim", no, "worker under another name")
		if row.status != "" {
			add("claim", no, "producer")
		}
		add("accept", accepted, "lead", "orchestrator for a worker", "other worker")
		add("accept", no, "worker under another name")
		if row.status == core.StatusCompleted {
			add("accept", no, "who completed it")
		}
		add("post", posted, "worker", "lead", "lead for a worker", "producer")
		add("post", no, "worker under another name")
	}
	return out
}

// codeRow is one row of table C.3, or one of the owner's own codes (D-49).
type codeRow struct {
	status  int
	retry   core.RetryClass
	hint    bool
	details []string
	// cases are the ways to cause it that a fixture must have; none: just one.
	cases []string
}

// codeRows is table C.3. Its last row, a code that is not known, is the
// client's to meet (C-084).
var codeRows = map[core.Code]codeRow{
	core.CodeClaimConflict: {409, core.RetryBackoff, true, []string{"current_claim_id"}, []string{"", " on a short lease"}},
	core.CodeLeaseExpired:  {status: 409, details: []string{"claim_id", "work_item_id", "work_item_status"}},
	core.CodeClaimReleased: {status: 409, details: []string{"claim_id", "work_item_id", "work_item_status"}},
	core.CodeClaimRevoked:  {status: 409, details: []string{"claim_id", "work_item_id", "work_item_status"}}, core.CodeUnauthorizedWorker: {status: 403, details: []string{"claim_id"}},
	core.CodeItemNotFound:       {status: 404, details: []string{"work_item_id"}},
	core.CodeItemSuperseded:     {status: 409, details: []string{"superseded_by_work_item_id"}},
	core.CodeItemCancelled:      {status: 409, details: []string{"work_item_id", "work_item_status"}},
	core.CodeNotActionable:      {status: 409, retry: core.RetryOnChange, details: []string{"work_item_id", "work_item_status"}},
	core.CodeValidationRequired: {status: 409, retry: core.RetryOnChange, details: []string{"missing_requirement_ids"}},
	core.CodeGateBlocked:        {409, core.RetryOnChange, true, []string{"work_item_id", "claim_intent_id"}, nil},
	core.CodeUnsupportedVersion: {status: 400, details: []string{"max_supported_version"}, cases: []string{"", " for a newer minor with unknown members"}},
	core.CodeSchemaViolation: {status: 400, cases: []string{" by unknown member", " by term of nothing", " by missing scope", " by missing version",
		" by a name that occurs twice", " by text that is no JSON", " by something behind the object", " by an id in the path that is no text"}},
	core.CodeUnauthenticated: {status: 401, cases: []string{" by no credential", " by a token that is not known", " by another scheme"}},
	core.CodeForbidden: {status: 403, cases: []string{" by another name", " by role: cancel", " by role: supersede", " by role: requeue", " by role: consume",
		" by role: resolve", " by role: block", " by role: unblock", " by role: send-back"}},
	core.CodeRateLimited: {status: 429, retry: core.RetryBackoff, hint: true},
	core.CodeInternal:    {status: 500, retry: core.RetryBackoff},
	core.CodeUnavailable: {status: 503, retry: core.RetryBackoff, hint: true},

	core.CodeClaimNotFound: {status: 404, details: []string{"claim_id"}}, core.CodeIntentNotFound: {status: 404}, core.CodeRouteNotFound: {status: 404},
	core.CodeMethodNotAllowed: {status: 405}, core.CodeMediaType: {status: 415}, core.CodeTooLarge: {status: 413}, core.CodeItemConflict: {status: 409},
	core.CodeEntryExists: {status: 409}, core.CodeKeyReused: {status: 422}, core.CodeRevisionMismatch: {status: 412, details: []string{"current"}},
	core.CodeCursorAhead: {status: 409}, core.CodeOriginRefused: {status: 403}, core.CodeExpectation: {status: 417},
}

// tables are all cells by the name under which a fixture covers them.
func tables() map[string]cell {
	out := make(map[string]cell)
	for name, c := range claimVerbs() {
		out["C.1 "+name] = c
	}
	for name, c := range itemVerbs() {
		out["C.2 "+name] = c
	}
	for code, row := range codeRows {
		cases := row.cases
		if len(cases) == 0 {
			cases = []string{""}
		}
		for _, how := range cases {
			out["C.3 "+string(code)+how] = cell{status: row.status, code: code, details: row.details, hint: row.hint}
		}
	}
	return out
}

// covered tells what a fixture that passed leaves unasserted of its cell.
func (c cell) covered(fx *fixture) error {
	if fx.Expected.Status != c.status || fx.code() != string(c.code) {
		return fmt.Errorf("expects %d %q, the table says %d %q", fx.Expected.Status, fx.code(), c.status, c.code)
	}
	var match any
	if fx.Expected.Match != nil {
		match = fx.Expected.Match.Value
	}
	answer := reply{body: asMap(match)}
	for _, d := range c.details {
		if answer.at("error.details."+d) == nil {
			return fmt.Errorf("does not expect details.%s", d)
		}
	}
	if hint, _ := answer.at("error.retry_after_seconds").(float64); c.hint && (hint < 1 || fx.Expected.Headers["Retry-After"] != fmt.Sprint(hint)) {
		return fmt.Errorf("does not expect Retry-After and the same in the body")
	}
	if len(fx.After) == 0 {
		return fmt.Errorf("looks at nothing afterwards")
	}
	for _, member := range c.looks {
		if !slices.ContainsFunc(fx.After, func(a fixtureRead) bool { return reply{body: asMap(a.Match)}.at(member) != nil }) {
			return fmt.Errorf("does not look at %s afterwards", member)
		}
	}
	return nil
}

// uncovered names the cells that no passed fixture covers, and what is covered
// wrongly or is no cell at all.
func uncovered(cells map[string]cell, passed map[string]*fixture) (faults []string) {
	for name, c := range cells {
		fx, known := passed[name]
		if !known {
			faults = append(faults, name+": no fixture that passed covers it")
		} else if err := c.covered(fx); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %s %v", name, fx.Name, err))
		}
	}
	for name := range passed {
		if _, known := cells[name]; !known {
			faults = append(faults, name+": is covered and no row of the tables")
		}
	}
	slices.Sort(faults)
	return faults
}

func ownFixtures(t *testing.T) map[string]fixture {
	t.Helper()
	files, err := filepath.Glob("testdata/fixtures/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	all := make(map[string]fixture)
	for _, f := range files {
		fx, err := loadFixture(f)
		if err != nil {
			t.Fatal(err)
		}
		if fx.Name+".json" != filepath.Base(f) {
			t.Errorf("%s holds the fixture %s", f, fx.Name)
		}
		if err := fx.vacuous(); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		all[fx.Name] = fx
	}
	return all
}

// TestOwnFixtures plays every fixture of ours on an owner of its own, and
// demands that those that passed cover each cell of the tables C.1, C.2 and C.3
// with status, code and the state after (H-026, H-027, H-031, H-032, H-036..H-038,
// H-041..H-043, H-052..H-054, H-058, H-059, H-062..H-066, H-074, H-075, D-38,
// D-48, D-49).
//
// With -short some are played and no coverage is demanded.
func TestOwnFixtures(t *testing.T) {
	t.Parallel()
	all := ownFixtures(t)
	nth := 0
	var mu sync.Mutex
	passed := make(map[string]*fixture)
	t.Run("play", func(t *testing.T) {
		for name, fx := range all {
			if nth++; testing.Short() && nth%8 != 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, all, fx.Owner)
				if err := s.playWhole(name); err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for row, by := range s.passed {
					if before, twice := passed[row]; twice && before.Name != by.Name {
						t.Errorf("%s is covered twice", row)
					}
					passed[row] = by
				}
			})
		}
	})
	if testing.Short() {
		return
	}
	cells := tables()
	for _, fault := range uncovered(cells, passed) {
		t.Error(fault)
	}
	t.Logf("%d fixtures cover %d cells", len(all), len(cells))
}

// TestVocabularyTable holds the statuses and retry classes of table C.3 against
// the vocabulary that owner and client share (H-062, H-063).
func TestVocabularyTable(t *testing.T) {
	t.Parallel()
	for _, info := range core.Vocabulary() {
		row, known := codeRows[info.Code]
		if !known || row.status != info.Status || row.retry != info.Retry {
			t.Errorf("%s is %d with retry class %d, the table says %+v", info.Code, info.Status, info.Retry, row)
		}
		if own := strings.Contains(string(info.Code), "."); own != info.Code.Own() {
			t.Errorf("%s: only codes of the owner's own have a dot", info.Code)
		}
	}
	if len(codeRows) != len(core.Vocabulary()) {
		t.Errorf("the table has %d codes, the vocabulary %d", len(codeRows), len(core.Vocabulary()))
	}
}
