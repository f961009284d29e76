package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// outcomes are the outcome and the changes of each line of `work put --json`.
func outcomes(t *testing.T, out string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(out) {
		var d struct {
			Outcome string
			Changes []string
			Item    struct {
				WorkItem acop.WorkItem `json:"work_item"`
			}
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, strings.TrimSpace(d.Outcome+" "+d.Item.WorkItem.WorkItemID+" "+strings.Join(d.Changes, ",")))
	}
	return all
}

// Each document of a put is told: whether it is new, what it changed, and that it
// changed nothing, also of an item that is accepted or closed.
func TestPutTellsTheOutcomes(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	const file = "---\n{work_item_id: a, work_kind: repair}\n---\n{work_item_id: b, work_kind: repair}\n"
	if out := r.must(file, "put", "-"); !strings.HasPrefix(out, "created a: ready, revision") || !strings.Contains(out, "\ncreated b: ready") {
		t.Errorf("new items: %s", out)
	}
	if out := r.must(file, "put", "-"); !strings.HasPrefix(out, "unchanged a: ready, revision 1\n") {
		t.Errorf("again: %s", out)
	}
	const change = "---\n{work_item_id: a, title: x, priority: high}\n---\n{work_item_id: b}\n---\n{work_item_id: c, work_kind: review}\n"
	out := r.must(change, "put", "-", "--json")
	if diff := cmp.Diff([]string{"changed a priority,title", "unchanged b", "created c"}, outcomes(t, out)); diff != "" {
		t.Error(diff)
	}
	r.must("", "cancel", "b", "--reason", "not needed")
	if out := r.must(change, "put", "-"); !strings.Contains(out, "unchanged b: cancelled") {
		t.Errorf("a closed item: %s", out)
	}
	entry := `---
{work_item: {work_item_id: a}, blackboard_entries: [{entry_id: e1, work_item_id: a, author_agent_uid: lead-01,
  created_at_utc: 2026-01-01T00:00:00Z, entry_kind: finding, status: active, summary: y}]}`
	for _, want := range []string{"changed a blackboard_entries", "unchanged a"} {
		if diff := cmp.Diff([]string{want}, outcomes(t, r.must(entry, "put", "-", "--json"))); diff != "" {
			t.Error(diff)
		}
	}
}

// A change of a closed item and of what never changes is refused before anything is
// sent; every such document is named with its line.
func TestPutTellsWhatIsRefused(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("---\n{work_item_id: a, work_kind: repair}\n---\n{work_item_id: b, work_kind: repair}\n", "put", "-")
	r.must("", "cancel", "b", "--reason", "not needed")
	const file = "work_item_id: new\nwork_kind: repair\n---\nwork_item_id: b\ntitle: x\n---\nwork_item_id: a\nwork_kind: review\n"
	got := r.work(file, "put", "-", "--json")
	want := []refusedItem{
		{"refused", "b", "standard input:4", "b is cancelled and takes no change of its title; take it out of the file"},
		{"refused", "a", "standard input:7", "work_kind of a never changes: it is repair, not review; leave it out, or use another id"},
	}
	var told []refusedItem
	for line := range strings.Lines(got.stdout) {
		var one refusedItem
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		told = append(told, one)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if got.code != exitFailed || !strings.Contains(got.stderr, "standard input:4: b is cancelled") || !strings.Contains(got.stderr, "1 other item of the file cannot be put either; nothing was put") {
		t.Errorf("exit %d: %s", got.code, got.stderr)
	}
	if missing := r.work("", "show", "new"); missing.code != exitFailed {
		t.Errorf("something was put: %+v", missing)
	}
}

// What breaks in the middle is told with how far it came; what waits for an item that
// was refused is not sent, and the same file goes on from there.
func TestPutThatBreaksInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("---\n{work_item_id: foreign, work_kind: repair}\n", "put", "-")
	producer := r.as("producer-1", acop.RoleProducer)
	const rest = `---
work_item: {work_item_id: last, work_kind: repair, status: blocked}
blockers: [{blocker_code: dependency_work_item_pending, severity: low, summary: x, depends_on_work_item_id: foreign}]
`
	for name, pad := range map[string]int{"few": 0, "many": manyItems} {
		file := fmt.Sprintf("---\n{work_item_id: first-%s, work_kind: repair}\n---\n{work_item_id: foreign, title: mine now}\n", name) + rest
		for i := range pad {
			file += fmt.Sprintf("---\n{work_item_id: pad-%d, work_kind: repair}\n", i)
		}
		got := runWith(t.Context(), file, map[string]string{"XDG_STATE_HOME": t.TempDir()}, "work", "--server", r.box.URL, "--token-file", producer, "put", "-")
		put := strings.Count(got.stdout, "\n")
		want := fmt.Sprintf("; %d of %d items were put before, put the file again for the others\n", put, pad+3)
		if got.code != exitFailed || !strings.HasPrefix(got.stderr, "signalbox: put foreign: ") || !strings.HasSuffix(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d: %s, want %s", name, got.code, got.stderr, want)
		}
		if !strings.HasPrefix(got.stdout, "created first-"+name+": ready") || put < 1 || put > pad+1 {
			t.Errorf("%s: told: %s", name, got.stdout)
		}
		if r.work("", "show", "last").code != exitFailed {
			t.Errorf("%s: an item was put whose dependency was refused", name)
		}
	}
}

// Many items are put several at a time, told in the order of the file, and none before
// what it waits for.
func TestPutOfManyItems(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	const n = manyItems + 40
	var list strings.Builder
	for i := range n {
		after := ""
		if i%10 != 0 {
			after = fmt.Sprintf(" after=w:%d", i-1)
		}
		fmt.Fprintf(&list, "- [ ] Task %d {#w:%d%s}\n", i, i, after)
	}
	var revisions []uint64
	for line := range strings.Lines(r.must(list.String(), "put", "-", "--format", "markdown", "--json")) {
		var d struct {
			Item struct {
				WorkItem acop.WorkItem `json:"work_item"`
				Revision uint64
			}
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil || !strings.HasPrefix(line, `{"outcome":"created"`) {
			t.Fatalf("%v: %s", err, line)
		}
		if want := fmt.Sprintf("w:%d", len(revisions)); d.Item.WorkItem.WorkItemID != want {
			t.Fatalf("told %s where %s was to come", d.Item.WorkItem.WorkItemID, want)
		}
		revisions = append(revisions, d.Item.Revision)
	}
	if len(revisions) != n {
		t.Fatalf("%d of %d are told", len(revisions), n)
	}
	for i := range revisions {
		if i%10 != 0 && revisions[i] < revisions[i-1] {
			t.Errorf("w:%d was put before w:%d, for which it waits", i, i-1)
		}
	}
	// The same again changes nothing, with a closed item among them as well.
	r.must("", "cancel", "w:0", "--reason", "x")
	head := slices.Max(revisions)
	out := r.must(list.String(), "put", "-", "--format", "markdown")
	if got := strings.Count(out, "unchanged w:"); got < n-1 {
		t.Errorf("%d of %d are told as unchanged behind revision %d:\n%s", got, n, head, out)
	}
	if !strings.HasPrefix(out, "unchanged w:0: cancelled") {
		t.Errorf("the closed one: %.80s", out)
	}
}

// Empty text takes a value away; what is left out keeps it (D-40).
func TestPutEmptiesText(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("---\n{work_item_id: a, work_kind: repair, title: t, summary: s, target_repo_id: r}\n", "put", "-")
	if out := r.must("---\n{work_item_id: a, summary: \"\", target_repo_id: \"\"}\n", "put", "-"); !strings.HasPrefix(out, "changed a (summary, target_repo_id)") {
		t.Errorf("told: %s", out)
	}
	if wi := r.detail("a").WorkItem; wi.Title != "t" || wi.Summary != "" || wi.TargetRepoID != "" {
		t.Errorf("%+v", wi)
	}
	if out := r.must("---\n{work_item_id: a, summary: \"\"}\n", "put", "-", "--dry-run"); !strings.Contains(out, "is so already") {
		t.Errorf("once more: %s", out)
	}
}

// A code that blocks an item several times stands once in the table, with its number.
func TestListCountsBlockers(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	r.must("- [ ] All {#all after=b}\n  - [ ] One {#one}\n  - [ ] Two {#two}\n- [ ] Other {#b}\n", "put", "-", "--format", "markdown")
	out := r.must("", "list")
	if !strings.Contains(out, " dependency_work_item_pending (3) ") || strings.Count(out, "dependency") != 1 {
		t.Errorf("%s", out)
	}
}

// Braces and numbers that are the text's own are left to it.
func TestTasksKeepTheirOwnBraces(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"Show `{#if}` and `{kind=x` as code", `Write \{#x} out`, "Fix #123 now", "Close the {", "Take {name} and {other} along", "C# {beta}"} {
		l, err := readList("x", []byte("- [ ] "+s+" {#given}\n"), listSettings{})
		if err != nil || len(l.tasks) != 1 || l.tasks[0].id != "given" || l.tasks[0].text != strings.ReplaceAll(s, `\`, "") {
			t.Errorf("%q: %v %+v", s, err, l)
		}
	}
}
