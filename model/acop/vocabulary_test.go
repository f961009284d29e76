package acop

import (
	"net/http"
	"strings"
	"testing"
)

// Table C.3 row by row: code, status, retry class.
func TestVocabulary(t *testing.T) {
	want := map[Code]struct {
		status int
		retry  RetryClass
	}{
		CodeClaimConflict:      {409, RetryBackoff},
		CodeLeaseExpired:       {409, RetryNever},
		CodeClaimReleased:      {409, RetryNever},
		CodeClaimRevoked:       {409, RetryNever},
		CodeUnauthorizedWorker: {403, RetryNever},
		CodeItemNotFound:       {404, RetryNever},
		CodeItemSuperseded:     {409, RetryNever},
		CodeItemCancelled:      {409, RetryNever},
		CodeNotActionable:      {409, RetryOnChange},
		CodeValidationRequired: {409, RetryOnChange},
		CodeGateBlocked:        {409, RetryOnChange},
		CodeUnsupportedVersion: {400, RetryNever},
		CodeSchemaViolation:    {400, RetryNever},
		CodeUnauthenticated:    {401, RetryNever},
		CodeForbidden:          {403, RetryNever},
		CodeRateLimited:        {429, RetryBackoff},
		CodeInternal:           {500, RetryBackoff},
		CodeUnavailable:        {503, RetryBackoff},
		CodeClaimNotFound:      {404, RetryNever}, // D-49 from here on
		CodeIntentNotFound:     {404, RetryNever},
		CodeRouteNotFound:      {404, RetryNever},
		CodeMethodNotAllowed:   {405, RetryNever},
		CodeMediaType:          {415, RetryNever},
		CodeTooLarge:           {413, RetryNever},
		CodeItemConflict:       {409, RetryNever},
		CodeEntryExists:        {409, RetryNever},
		CodeKeyReused:          {422, RetryNever},
		CodeRevisionMismatch:   {412, RetryNever},
		CodeCursorAhead:        {409, RetryNever},
		CodeOriginRefused:      {403, RetryNever},
		CodeExpectation:        {417, RetryNever},
	}
	if len(want) != len(Vocabulary()) {
		t.Errorf("%d codes in the vocabulary, want %d", len(Vocabulary()), len(want))
	}
	for code, w := range want {
		i := Info(code)
		if i.Status != w.status || i.Retry != w.retry || !code.Known() {
			t.Errorf("%s: %d, %d; want %d, %d", code, i.Status, i.Retry, w.status, w.retry)
		}
		if i.Plain == "" || i.Next == "" || strings.HasSuffix(i.Plain, ".") || strings.HasSuffix(i.Next, ".") {
			t.Errorf("%s: words for people are missing or end in a full stop", code)
		}
		if code.Own() != strings.Contains(string(code), ".") {
			t.Errorf("%s: own codes carry the prefix, the core's none", code)
		}
	}
}

// C-084: unknown codes are treated by their status.
func TestUnknownCode(t *testing.T) {
	for status, want := range map[int]bool{
		400: false, 401: false, 403: false, 404: false, 408: true, 409: false, 412: false, 422: false, 429: true,
		500: true, 502: true, 503: true, 504: true,
	} {
		e := &Error{Code: "acme.weird", Status: status}
		if e.Retryable() != want {
			t.Errorf("%d: retryable %v, want %v", status, e.Retryable(), want)
		}
		if e.HTTPStatus() != status {
			t.Errorf("status %d became %d", status, e.HTTPStatus())
		}
	}
	if got := (&Error{Code: "acme.weird"}).HTTPStatus(); got != http.StatusInternalServerError {
		t.Errorf("an unknown code without a status is %d", got)
	}
	if i := Info("acme.weird"); i.Code != "acme.weird" || i.Plain == "" || i.Next == "" {
		t.Errorf("Info of an unknown code: %+v", i)
	}
	if got := Errorf(CodeRevisionMismatch, "moved on").HTTPStatus(); got != 412 {
		t.Errorf("revision_mismatch is %d", got)
	}
}

// C-021 to C-024.
func TestBlockerCodes(t *testing.T) {
	for code, want := range map[string][2]bool{ // reserved, ours to mint
		BlockerDependency:            {true, false},
		BlockerArtifactMissing:       {true, false},
		"orchestration.gate":         {true, false},
		"compliance.audit":           {true, false},
		"x.acme.anything":            {true, false},
		BlockerAttemptsExhausted:     {true, true},
		"x.signalbox.Attempts":       {true, false},
		"x.signalbox.":               {false, false},
		"x..y":                       {false, false},
		"foo_bar":                    {false, false},
		"":                           {false, false},
		"upstream_gate_pending":      {false, false},
		"xsignalbox.attempts":        {false, false},
		"x.signalbox.a\nreview_requ": {true, false},
	} {
		if got := [2]bool{ReservedBlocker(code), OwnBlockerCode(code)}; got != want {
			t.Errorf("%q: %v, want %v", code, got, want)
		}
	}
	if len(ReservedBlockers()) != 8 {
		t.Errorf("%d core codes", len(ReservedBlockers()))
	}
	yes := true
	for _, b := range []Blocker{
		{BlockerCode: BlockerExternalDecision}, {BlockerCode: BlockerReviewRequired},
		{BlockerCode: BlockerAttemptsExhausted}, {BlockerCode: "foo", DependsOnExternalDecision: &yes},
	} {
		if !b.NeedsPerson() {
			t.Errorf("%s needs a person", b.BlockerCode)
		}
	}
	if (Blocker{BlockerCode: BlockerDependency}).NeedsPerson() {
		t.Error("a dependency resolves itself")
	}
	if (Blocker{BlockerCode: "foo", DependsOnWorkItemID: "a"}).DependsOn() != "" {
		t.Error("only dependency_work_item_pending is an edge (C-025)")
	}
}
