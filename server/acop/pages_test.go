package acop

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAnswerIsAsNewAsItsRevision reads lists while others write. Whoever goes on
// with the events after the revision of an answer must miss nothing: what was done
// up to there is in it.
func TestAnswerIsAsNewAsItsRevision(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	const before, during = 60, 60
	for i := range before + during {
		b.put(fmt.Sprint("w", i), m{"owned_paths": []string{fmt.Sprint("src/", i), fmt.Sprint("test/", i)}}, nil)
	}
	for i := range before {
		b.claim(fmt.Sprint("w", i), "worker-http", 600)
	}
	granted := map[string]float64{} // claim id -> revision
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range during {
			r, err := b.try("POST", "claims", "worker-other", claimBody(fmt.Sprint("w", before+i), "worker-other", 600))
			if err != nil || r.status != http.StatusCreated {
				t.Errorf("claim: %v %s", err, r.raw)
				return
			}
			granted[r.text("claim.claim_id")] = r.at("revision").(float64)
		}
	}()
	var answers []reply
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		answers = append(answers, b.do("GET", "claims?agent=worker-other", "reader-01", nil))
	}
	for _, r := range answers {
		shown := map[string]bool{}
		for _, c := range r.at("claims").([]any) {
			shown[c.(map[string]any)["claim"].(map[string]any)["claim_id"].(string)] = true
		}
		for id, rev := range granted {
			if rev <= r.at("revision").(float64) && !shown[id] {
				t.Fatalf("a claim granted at revision %v is not in an answer of revision %v", rev, r.at("revision"))
			}
		}
	}
}

// TestGuardCountsWhatWasAnswered: a handler that names no status answers 200, and
// one that fails in the midst of its answer gets nothing added to it.
func TestGuardCountsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	ask := func(name string, h http.HandlerFunc) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/elsewhere", nil)
		r.Header.Set("Authorization", "Bearer "+b.tokens["reader-01"])
		w := httptest.NewRecorder()
		b.owner.Guard(name, h).ServeHTTP(w, r)
		return w
	}
	ask("plain", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	ask("silent", func(http.ResponseWriter, *http.Request) {})
	w := ask("broken", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hel"))
		panic("in the midst")
	})
	if got := w.Body.String(); got != "hel" {
		t.Errorf("the broken answer is %q", got)
	}
	got := b.samples()
	for _, name := range []string{"plain", "silent", "broken"} {
		if n := got[`signalbox_requests_total{route="`+name+`",status="200"}`]; n != 1 {
			t.Errorf("%s is counted %v times as answered: %v", name, n, got)
		}
	}
}
