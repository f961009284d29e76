package acop

import (
	"errors"
	"fmt"
	"io"
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
// one that fails in the midst of its answer gets nothing added to it, and its
// connection is cut: the reader does not take it for the whole.
func TestGuardCountsWhatWasAnswered(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	ask := func(name string, h http.HandlerFunc) {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/elsewhere", nil)
		r.Header.Set("Authorization", "Bearer "+b.tokens["reader-01"])
		b.owner.Guard(name, h).ServeHTTP(httptest.NewRecorder(), r)
	}
	ask("plain", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	ask("silent", func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewServer(b.owner.Guard("broken", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("hel"))
		_ = http.NewResponseController(w).Flush()
		panic("in the midst")
	}))
	defer srv.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.tokens["reader-01"])
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "hel" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the broken answer is %q and ends with %v", body, err)
	}
	got := b.samples()
	for _, name := range []string{"plain", "silent", "broken"} {
		if n := got[`signalbox_requests_total{route="`+name+`",status="200"}`]; n != 1 {
			t.Errorf("%s is counted %v times as answered: %v", name, n, got)
		}
	}
}
