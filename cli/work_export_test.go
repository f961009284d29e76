package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"signalbox/model/acop"
)

// hostileDocs are items with every member, and every hostile text in each of them.
func hostileDocs(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i, s := range hostile {
		doc := acop.Document{ProtocolVersion: acop.ProtocolVersion,
			WorkItem: acop.WorkItem{
				WorkItemID: fmt.Sprintf("work:%d:%s", i, s), ProtocolVersion: acop.ProtocolVersion, WorkKind: acop.KindReview, Priority: acop.PriorityHigh,
				ActionabilityScore: 0.25, Status: acop.StatusReady, Producer: "p" + s, Title: s, Summary: s, TargetRepoID: s, TargetBranch: s,
				OwnedPaths: []string{"a/" + s}, ParticipantAgentUIDs: []string{"agent:x" + s},
			},
			Blockers:               []acop.Blocker{{BlockerCode: acop.BlockerReviewRequired, Severity: acop.SeverityLow, Summary: "s" + s}},
			ValidationRequirements: []acop.ValidationRequirement{{RequirementID: "r" + s, Kind: "test", Summary: "s" + s}},
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		// The owner fills in the time; a zero one cannot be put.
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		delete(m["work_item"].(map[string]any), "created_at_utc")
		if raw, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}

// TestExportRound: what export writes is read by put, at the same owner without any
// change and at another one into the same items, whatever is in their texts and
// however far they have come.
func TestExportRound(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must(hostileDocs(t), "put", "-")
	r.must("work_item_id: ask\nwork_kind: review\nstatus: requires_attention\n---\nwork_item_id: held\nwork_kind: repair\n---\nwork_item_id: over\nwork_kind: repair\n---\n"+
		"work_item: {work_item_id: later, work_kind: repair, status: blocked}\nblockers: [{blocker_code: dependency_work_item_pending, severity: low, summary: s, depends_on_work_item_id: held}]\n", "put", "-")
	r.must("", "grant", "held", "--to", "agent:owl")
	r.must("", "cancel", "over", "--reason", "x")
	all := r.must("", "export")
	for _, format := range []string{"json", "yaml", "markdown"} {
		out := r.must("", "export", "--format", format)
		if strings.ContainsRune(out, 0x1b) {
			t.Errorf("%s holds an escape", format)
		}
		revision := r.revision()
		r.must(out, "put", "-", "--format", format)
		if now := r.revision(); now != revision {
			t.Errorf("putting %s again moved the log from %d to %d", format, revision, now)
		}
	}
	if again := r.must("", "export"); again != all {
		t.Error("the export is another one after the round")
	}
	if one := r.must("", "export", "held", "--format", "yaml"); strings.Count(one, "---\n") != 1 || !strings.Contains(one, "work_item_id: held\n") {
		t.Errorf("one item: %s", one)
	}
	if ready := r.must("", "export", "--status", "claimed", "--json"); strings.Count(ready, "\n") != 1 || !strings.Contains(ready, `"held"`) {
		t.Errorf("one status: %s", ready)
	}

	// Another owner gets what is open, as it is now.
	r.must("", "resolve", "ask", "--note", "go on")
	other := newWorkRig(t)
	live := r.must("", "export", "--live", "--format", "yaml")
	if strings.Contains(live, "work_item_id: over") {
		t.Error("a closed item was taken along")
	}
	other.must(live, "put", "-")
	if got := other.must("", "export", "--live", "--format", "yaml"); got != live {
		t.Errorf("the other owner has other items:\n%s\n%s", live, got)
	}
	if it := other.detail("ask"); it.Status() != acop.StatusReady {
		t.Errorf("ask is %s", it.Status())
	}
	if it := other.detail("later"); it.Status() != acop.StatusBlocked || it.Blockers[0].DependsOn() != "held" {
		t.Errorf("later is %s, %+v", it.Status(), it.Blockers)
	}
	// A list at another owner carries what a list can hold.
	third := newWorkRig(t)
	third.must(r.must("", "export", "--format", "markdown"), "put", "-")
	for i, s := range hostile {
		if w := third.detail(fmt.Sprintf("work:%d:%s", i, s)).WorkItem; w.Title != s || w.Summary != s || w.TargetBranch != s || w.Priority != acop.PriorityHigh {
			t.Errorf("%q became %+v", s, w)
		}
	}
}

// revision is that of the owner's log.
func (r *workRig) revision() uint64 {
	r.t.Helper()
	var l struct{ Revision uint64 }
	if err := json.Unmarshal([]byte(r.must("", "list", "--limit", "1", "--json")), &l); err != nil {
		r.t.Fatal(err)
	}
	return l.Revision
}

// TestExportSaysWhatIsWrong: nothing is printed for a wrong call.
func TestExportSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"export", "--format", "xml"}, exitUsage, "--format must be"},
		{[]string{"export", "--format", "yaml", "--json"}, exitUsage, "contradict"},
		{[]string{"export", "a", "--status", "ready"}, exitUsage, "not both"},
		{[]string{"export", "--status", "gone"}, exitUsage, "not a status"},
		{[]string{"export", "nowhere"}, exitFailed, "work_item_not_found"},
	} {
		if got := r.work("", c.args...); got.code != c.code || !strings.Contains(got.stderr, c.want) || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q %q", c.args, got.code, got.stdout, got.stderr)
		}
	}
	if out := r.must("", "export"); out != "" {
		t.Errorf("an empty owner exports %q", out)
	}
}
