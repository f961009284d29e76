package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPutSaysWhatIsWrong: each fault of a document is told by file and line, with
// what is expected, before anything is sent (A-110, B67, C-008).
func TestPutSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, doc, want string }{
		{"kind", "work_item_id: a\nwork_kind: nonsense\n", `:2: work_kind must be one of implement, refactor, review, validate, repair, handoff_followup, merge_prepare, not "nonsense"`},
		{"second document", "work_item_id: a\nwork_kind: repair\n---\nwork_item_id: b\nwork_kind: nonsense\n", ":5: work_kind must be one of"},
		{"list", "- work_item_id: a\n  work_kind: repair\n- work_item_id: b\n  work_kind: paint\n", ":4: work_kind must be one of"},
		{"JSON list", "[\n{\"work_item_id\":\"a\",\"work_kind\":\"repair\"},\n{\"work_item_id\":\"b\",\n\"work_kind\":\"paint\"}]", ":4: work_kind must be one of"},
		{"type", "work_item_id: a\nwork_kind: repair\ntitle: true\n", ":3: title must be text, not true or false"},
		{"JSON type", "{\"work_item_id\": \"a\",\n\"work_kind\": \"repair\",\n\"title\": 4}", ":3: title must be text, not a number"},
		{"nested type", "work_item:\n  work_item_id: a\n  work_kind: repair\n  owned_paths: x\n", ":4: work_item.owned_paths must be a list, not text"},
		{"unknown member", "work_item_id: a\nwork_kind: repair\ntitel: x\n", ":3: titel is an unknown member; did you mean title?"},
		{"unknown member of a blocker", "work_item: {work_item_id: a, work_kind: repair}\nblockers:\n  - blocker_code: x\n    severity: low\n    summary: y\n    colour: z\n", ":6: blockers[0].colour is an unknown member"},
		{"missing", "work_item: {work_item_id: a, work_kind: repair}\nblockers:\n  - blocker_code: x\n    severity: low\n", ":3: blockers[0] lacks summary"},
		{"title alone", `{"title":"x"}`, ":1: a work item needs work_item_id and work_kind"},
		{"no id", "\nwork_kind: repair\n", ":2: a work item needs work_item_id"},
		{"empty id", "work_item_id: \"\"\nwork_kind: repair\n", ":1: a work item needs work_item_id"},
		{"neither", "blockers: []\n", ":1: work_item is missing"},
		{"no mapping", "- 4\n", ":1: a document must be a mapping with a work_item, not 4"},
		{"score", "work_item_id: a\nwork_kind: repair\nactionability_score: 3\n", ":3: actionability_score must be at most 1, not 3"},
		{"time", "work_item_id: a\nwork_kind: repair\ncreated_at_utc: 2026-05-16T19:13:02+02:00\n", ":3: created_at_utc must be a time in UTC"},
		{"no time", "work_item_id: a\nwork_kind: repair\ncreated_at_utc: yesterday\n", ":3: created_at_utc must be a time in UTC"},
		{"version", "work_item_id: a\nwork_kind: repair\nprotocol_version: acop/9\n", `:3: protocol_version must be acop/1.0, not "acop/9"`},
		{"claim", "work_item: {work_item_id: a, work_kind: repair}\nclaim: {claim_id: c, work_item_id: a, worker_agent_uid: w, granted_at_utc: 2026-05-16T19:13:02Z, expires_at_utc: 2026-05-16T19:13:02Z, claim_status: active}\n", ":2: claim cannot be put"},
		{"duplicate in JSON", "{\"work_item_id\":\"a\",\n\"work_kind\":\"repair\",\n\"work_item_id\":\"b\"}", ":3: work_item_id is there twice"},
		{"duplicate deep in JSON", "{\"work_item\":{\"work_item_id\":\"a\",\"work_kind\":\"repair\"},\n\"blockers\":[{\"summary\":\"x\",\n\"summary\":\"y\"}]}", ":3: summary is there twice"},
		{"duplicate in YAML", "work_item_id: a\nwork_kind: repair\nwork_item_id: b\n", ":3: work_item_id is there twice"},
		{"duplicate deep in YAML", "work_item: {work_item_id: a, work_kind: repair}\nblockers:\n  - summary: x\n    summary: y\n", ":4: summary is there twice"},
		{"duplicate in a flow mapping", "work_item: {work_item_id: a, work_kind: repair,\n  work_item_id: b}\n", ":2: work_item_id is there twice"},
		{"broken JSON", "{\n\"work_item\": {,}\n}", ":2: this is not JSON"},
		{"unclosed JSON", "{\"work_item_id\": \"a\",\n", "ends too early"},
		{"junk behind", "{\"work_item_id\":\"a\",\"work_kind\":\"repair\"}\n]", ":2: this is not JSON"},
		{"YAML that is not UTF-8", "- work_kind: repair\n- work_item_id: \"a\xff\"\n", ":2: the text is not UTF-8"},
		{"not UTF-8", "{\"work_item_id\":\"a\xff\",\"work_kind\":\"repair\"}", ":1: "},
		{"escape sequence", "work_item_id: a\nwork_kind: \"\\e[2Jx\"\n", ":2: work_kind must be one of"},
		{"zero", "{\"work_item_id\": \"a\", \"work_kind\": \"repair\",\n\"title\": \"x\\u0000\"}", ":2: title must be text without zero characters"},
		{"several", "work_item_id: a\nwork_kind: repair\ntitle: 1\nsummary: 2\nproducer: 3\npriority: 4\n", "line 4: summary must be text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "items")
			if err := os.WriteFile(path, []byte(tt.doc), 0o600); err != nil {
				t.Fatal(err)
			}
			// No server is named: what is wrong is found before one is needed.
			got := runWith(t.Context(), "", map[string]string{"XDG_STATE_HOME": t.TempDir()}, "work", "put", path)
			if got.code != exitUsage || !strings.HasPrefix(got.stderr, "signalbox: "+path+":") || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("exit %d, stderr %q, want %q", got.code, got.stderr, path+tt.want)
			}
			if strings.Count(got.stderr, "\n") != 1 || strings.ContainsRune(got.stderr, '\x1b') || strings.Contains(got.stderr, "json") || strings.Contains(got.stderr, "Go ") {
				t.Errorf("not one line for people: %q", got.stderr)
			}
		})
	}
}

// TestPutSendsAllOrNothing: a fault of a later document that only the owner's
// state shows also keeps the earlier ones back.
func TestPutSendsAllOrNothing(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	got := r.work("work_item_id: a\nwork_kind: repair\n---\nwork_item_id: b\ntitle: no kind\n", "put", "-")
	if got.code != exitUsage || !strings.Contains(got.stderr, "put b: work_kind is missing") || got.stdout != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
	}
	if out := r.must("", "list"); !strings.Contains(out, "no work items match") {
		t.Errorf("something was put: %s", out)
	}
	// Known items may leave the kind out, anchors and JSON one after the other work.
	r.must("work_item_id: b\nwork_kind: repair\n", "put", "-")
	r.must("work_item_id: b\ntitle: &t once more\nsummary: *t\n", "put", "-")
	r.must("{\"work_item_id\":\"c\",\"work_kind\":\"repair\"}\n{\"work_item_id\":\"d\",\"work_kind\":\"review\",\"actionability_score\":0.25}", "put", "-")
	if out := r.must("", "show", "b"); !strings.Contains(out, "once more") || !strings.Contains(out, "repair") {
		t.Errorf("show: %s", out)
	}
}
