package acop

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// seen is one request as the fake owner got it.
type seen struct {
	Method, Path string
	Body         map[string]any
	Header       http.Header
}

// fakeOwner answers every request with status and body and remembers it.
func fakeOwner(t *testing.T, status int, body string) (*Client, *[]seen) {
	t.Helper()
	var got []seen
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := seen{Method: r.Method, Path: r.URL.EscapedPath(), Header: r.Header}
		if data, _ := io.ReadAll(r.Body); len(data) > 0 {
			if err := json.Unmarshal(data, &s.Body); err != nil {
				t.Errorf("body is not JSON: %v", err)
			}
		}
		got = append(got, s)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL + "/x/y", Token: Token("T"), Identity: "me", Patience: -1})
	return c, &got
}

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// okBody satisfies the receipt check of every verb of the table.
const okBody = `{"protocol_version":"acop/1.0","revision":7,"work_item_status":"claimed",
	"claim":{"claim_id":"c/1","work_item_id":"w 1","worker_agent_uid":"a","granted_at_utc":"2026-05-16T19:13:02.000Z","expires_at_utc":"2026-05-16T19:18:02.000Z","claim_status":"active"},
	"work_item":{"work_item_id":"w 1","status":"claimed","work_kind":"repair"},"entry":{"entry_id":"e","entry_kind":"risk"},"released":["w2"],"x_later":{"y":1}}`

// TestDoRequests covers H-002, H-003, H-005, H-006, H-010, H-019, H-076, C-081,
// C-085 and table C.4: what each verb puts on the wire.
func TestDoRequests(t *testing.T) {
	t.Parallel()
	yes := true
	lead := acop.GrantLead
	tests := []struct {
		act    acop.Act
		method string
		path   string
		body   string
	}{
		{acop.Act{Verb: acop.VerbClaim, WorkItemID: "w 1"}, "POST", "claims",
			`{"work_item_id":"w 1","worker_agent_uid":"me","requested_ttl_seconds":300,"scope":"owned_paths"}`},
		{acop.Act{Verb: acop.VerbClaim, WorkItemID: "w 1", Worker: "a", TTLSeconds: 30, Scope: "s", IntentID: "i"}, "POST", "claims",
			`{"work_item_id":"w 1","worker_agent_uid":"a","requested_ttl_seconds":30,"scope":"s","claim_intent_id":"i"}`},
		{acop.Act{Verb: acop.VerbRenew, ClaimID: "c/1", TTLSeconds: 9, Reason: "half"}, "POST", "claims/c%2F1/renew",
			`{"requested_ttl_seconds":9,"progress_summary":"half"}`},
		{acop.Act{Verb: acop.VerbRelease, ClaimID: "c/1", Worker: "a", Reason: "r"}, "POST", "claims/c%2F1/release",
			`{"worker_agent_uid":"a","release_reason":"r"}`},
		{acop.Act{Verb: acop.VerbComplete, ClaimID: "c/1"}, "POST", "claims/c%2F1/complete",
			`{"completion_evidence":{"validation_results":[],"artifact_ids":[]}}`},
		{acop.Act{Verb: acop.VerbRevoke, ClaimID: "c/1", Reason: "r", Disposition: acop.StatusReleased}, "POST", "claims/c%2F1/revoke",
			`{"reason":"r","disposition":"released"}`},
		{acop.Act{Verb: acop.VerbAccept, WorkItemID: "w 1", Worker: "a", Reason: "n"}, "POST", "work-items/w%201/accept",
			`{"accepting_agent_uid":"a","acceptance_notes":"n"}`},
		{acop.Act{Verb: acop.VerbCancel, WorkItemID: "w 1", Reason: "r"}, "POST", "work-items/w%201/cancel", `{"reason":"r"}`},
		{acop.Act{Verb: acop.VerbSupersede, WorkItemID: "w 1", SupersededBy: "w2"}, "POST", "work-items/w%201/supersede",
			`{"superseded_by_work_item_id":"w2"}`},
		{acop.Act{Verb: acop.VerbSendBack, WorkItemID: "w 1", Reason: "r", WorkKind: acop.KindRepair}, "POST", "work-items/w%201/send-back",
			`{"reason":"r","work_kind":"repair"}`},
		{acop.Act{Verb: acop.VerbResolve, WorkItemID: "..", Decision: acop.StatusReady, Reason: "n"}, "POST", "work-items/%2E%2E/resolve",
			`{"decision":"ready","note":"n"}`},
		{acop.Act{Verb: acop.VerbBlock, WorkItemID: "100%", Blocker: &acop.Blocker{BlockerCode: "x.y", Severity: "low", Summary: "s"}}, "POST", "work-items/100%25/block",
			`{"blocker":{"blocker_code":"x.y","severity":"low","summary":"s"}}`},
		{acop.Act{Verb: acop.VerbUnblock, WorkItemID: "ü?#", BlockerCode: "x.y"}, "POST", "work-items/%C3%BC%3F%23/unblock",
			`{"blocker_code":"x.y"}`},
		{acop.Act{Verb: acop.VerbRequeue, WorkItemID: "w 1"}, "POST", "work-items/w%201/requeue", `{}`},
		{acop.Act{Verb: acop.VerbConsume, WorkItemID: "w 1"}, "POST", "work-items/w%201/consume", `{}`},
		{acop.Act{Verb: acop.VerbGrant, IntentID: "i:1", TTLSeconds: 5}, "POST", "claim-intents/i%3A1/grant", `{"ttl_seconds":5}`},
		{acop.Act{Verb: acop.VerbDeny, IntentID: "i:1", Reason: "r"}, "POST", "claim-intents/i%3A1/deny", `{"reason":"r"}`},
		{acop.Act{Verb: acop.VerbSettings, Settings: &acop.SettingsChange{Frozen: &yes, GrantMode: &lead, Reason: "r"}}, "PUT", "settings",
			`{"frozen":true,"grant_mode":"lead","reason":"r"}`},
		{acop.Act{Verb: acop.VerbPut, WorkItemID: "w 1", Document: &acop.Document{WorkItem: acop.WorkItem{WorkItemID: "w 1"}, Blockers: []acop.Blocker{}}}, "PUT", "work-items",
			`{"blockers":[],"work_item":{"work_item_id":"w 1","protocol_version":"","work_kind":"","created_at_utc":"","producer":"","status":"","priority":"","actionability_score":0}}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.act.Verb)+"_"+tt.path, func(t *testing.T) {
			t.Parallel()
			c, got := fakeOwner(t, 200, okBody)
			act := tt.act
			act.IfRevision = 42
			if _, err := c.Do(t.Context(), act); err != nil {
				t.Fatal(err)
			}
			if len(*got) != 1 {
				t.Fatalf("%d requests, want 1", len(*got))
			}
			g := (*got)[0]
			var want map[string]any
			if err := json.Unmarshal([]byte(tt.body), &want); err != nil {
				t.Fatal(err)
			}
			want["protocol_version"] = "acop/1.0"
			if g.Method != tt.method || g.Path != "/x/y/"+tt.path {
				t.Errorf("got %s %s, want %s /x/y/%s", g.Method, g.Path, tt.method, tt.path)
			}
			if d := cmp.Diff(want, g.Body); d != "" {
				t.Errorf("body (-want +got):\n%s", d)
			}
			for k, v := range map[string]string{
				"Content-Type": "application/json", "Accept": "application/json",
				"Authorization": "Bearer T", "If-Match": `"42"`,
			} {
				if g.Header.Get(k) != v {
					t.Errorf("%s = %q, want %q", k, g.Header.Get(k), v)
				}
			}
			if len(g.Header.Get("Idempotency-Key")) < 20 {
				t.Errorf("Idempotency-Key = %q", g.Header.Get("Idempotency-Key"))
			}
		})
	}
}

// TestDoPostAndHeartbeat covers H-009, H-056 and H-057: times are made here, in
// UTC with milliseconds, and a missing entry_id is left to the owner.
func TestDoPostAndHeartbeat(t *testing.T) {
	t.Parallel()
	stamp := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	c, got := fakeOwner(t, 201, okBody)
	if _, err := c.Do(t.Context(), acop.Act{Verb: acop.VerbPost, WorkItemID: "w 1",
		Entry: &acop.BlackboardEntry{EntryKind: acop.EntryRisk, Summary: "s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), acop.Act{Verb: acop.VerbHeartbeat, ClaimID: "c/1", Reason: "going"}); err != nil {
		t.Fatal(err)
	}
	entry := (*got)[0].Body["entry"].(map[string]any)
	if s := entry["created_at_utc"].(string); !stamp.MatchString(s) {
		t.Errorf("created_at_utc = %q", s)
	}
	delete(entry, "created_at_utc")
	want := map[string]any{"work_item_id": "w 1", "entry_kind": "risk", "author_agent_uid": "me", "status": "active", "summary": "s"}
	if d := cmp.Diff(want, entry); d != "" {
		t.Errorf("entry (-want +got):\n%s", d)
	}
	if s := (*got)[1].Body["observed_at_utc"].(string); !stamp.MatchString(s) {
		t.Errorf("observed_at_utc = %q", s)
	}
}

// TestDoReceipt covers C-084, C-085, C-086, D-50 and D-56: what is made of answers.
func TestDoReceipt(t *testing.T) {
	t.Parallel()
	claim := acop.Act{Verb: acop.VerbClaim, WorkItemID: "w 1"}
	t.Run("read", func(t *testing.T) {
		c, _ := fakeOwner(t, 201, okBody)
		r, err := c.Do(t.Context(), claim)
		if err != nil {
			t.Fatal(err)
		}
		if r.Revision != 7 || r.Status != acop.StatusClaimed || r.Claim.ClaimID != "c/1" ||
			r.Item.ID() != "w 1" || r.Entry.EntryID != "e" || len(r.Released) != 1 {
			t.Errorf("receipt = %+v", r)
		}
	})
	for name, body := range map[string]string{
		"another item":   strings.Replace(okBody, `"work_item_id":"w 1","worker`, `"work_item_id":"w 2","worker`, 1),
		"unknown status": strings.Replace(okBody, `"work_item_status":"claimed"`, `"work_item_status":"paused"`, 1),
		"no claim":       `{"revision":1}`,
		"not JSON":       `<html>hello</html>`,
	} {
		t.Run(name, func(t *testing.T) {
			c, got := fakeOwner(t, 200, body)
			if _, err := c.Do(t.Context(), claim); !errorsIs(err, ErrProtocol) {
				t.Errorf("err = %v, want ErrProtocol", err)
			}
			if len(*got) != 1 {
				t.Errorf("%d requests, want 1", len(*got))
			}
		})
	}
}

// TestDoRefusesMissingTarget: an empty segment would address something else (B73).
func TestDoRefusesMissingTarget(t *testing.T) {
	t.Parallel()
	c, got := fakeOwner(t, 200, okBody)
	for _, v := range []acop.Verb{
		acop.VerbPut, acop.VerbClaim, acop.VerbRenew, acop.VerbRelease, acop.VerbComplete, acop.VerbAccept, acop.VerbPost,
		acop.VerbHeartbeat, acop.VerbRevoke, acop.VerbCancel, acop.VerbSupersede, acop.VerbSendBack, acop.VerbBlock, acop.VerbUnblock,
		acop.VerbResolve, acop.VerbRequeue, acop.VerbConsume, acop.VerbGrant, acop.VerbDeny, acop.VerbSettings, acop.VerbExpire, "",
	} {
		if _, err := c.Do(t.Context(), acop.Act{Verb: v}); err == nil {
			t.Errorf("%q without a target: no error", v)
		}
	}
	if len(*got) != 0 {
		t.Errorf("%d requests were sent", len(*got))
	}
}

// TestNewRefusesBadURL: no secret of the URL may stand in the error.
func TestNewRefusesBadURL(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"", "localhost:80", "ftp://h/", "http://", "http://u:SECRET123@h/", "http://h/?token=SECRET123", "http://h/#f", "http://h/%zz?SECRET123"} {
		_, err := New(Options{BaseURL: u})
		if err == nil {
			t.Errorf("%q accepted", u)
		} else if strings.Contains(err.Error(), "SECRET123") {
			t.Errorf("error repeats a secret: %v", err)
		}
	}
}
