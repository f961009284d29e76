package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"signalbox/model/acop"
)

// detail reads an item back as the lead.
func (r *workRig) detail(id string) *acop.Item {
	r.t.Helper()
	var d acop.Detail
	if err := json.Unmarshal([]byte(r.must("", "show", id, "--json")), &d); err != nil {
		r.t.Fatal(err)
	}
	return d.Item
}

// file writes content under a name of its own folder.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

const todo = `---
repo: shop
priority: high
---
# Release 2

Prose that is no task, and a [link](x).

## Payments
- [ ] Charge cards once
  The double call is in pay/.

      indented

  * a plain point
  - [ ] Find the double call {#work:find kind=review}
  - [x] Ask the bank
    - [ ] Write it down
- [x] Old thing
* [ ] Tell \*all\* users &amp; friends {after=work:find priority=low}

## Docs
1. [ ] Charge cards once
` + "```\n- [ ] not a task\n```\n"

// TestPutTaskList: a list becomes items with stable ids, what is part of a task or
// comes before it blocks it, and putting it again changes nothing.
func TestPutTaskList(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	path := file(t, "TODO.md", todo)
	out := r.must("", "put", path, "--branch", "main", "--dry-run")
	if strings.Count(out, "would make") != 5 || !strings.Contains(out, "2 tasks left out") {
		t.Errorf("dry run: %s", out)
	}
	if out := r.must("", "list"); !strings.Contains(out, "no work items match") {
		t.Fatalf("the dry run changed something: %s", out)
	}
	r.must("", "put", path, "--branch", "main")
	pay := r.detail("task:release-2/payments/charge-cards-once")
	if pay.Status() != acop.StatusBlocked || len(pay.Blockers) != 1 || pay.Blockers[0].DependsOn() != "work:find" {
		t.Errorf("the whole does not wait for its part: %s %+v", pay.Status(), pay.Blockers)
	}
	w := pay.WorkItem
	if w.Title != "Charge cards once" || w.Summary != "The double call is in pay/.\n\n    indented\n\n* a plain point" ||
		w.TargetRepoID != "shop" || w.TargetBranch != "main" || w.Priority != acop.PriorityHigh || w.WorkKind != acop.KindImplement {
		t.Errorf("%+v", w)
	}
	if w := r.detail("work:find").WorkItem; w.Status != acop.StatusReady || w.WorkKind != acop.KindReview {
		t.Errorf("%+v", w)
	}
	tell := r.detail("task:release-2/payments/tell-all-users-friends")
	if tell.WorkItem.Title != "Tell *all* users & friends" || tell.Status() != acop.StatusBlocked || tell.WorkItem.Priority != acop.PriorityLow {
		t.Errorf("%+v", tell.WorkItem)
	}
	r.detail("task:release-2/payments/charge-cards-once/ask-the-bank/write-it-down")
	if docs := r.detail("task:release-2/docs/charge-cards-once"); docs.Status() != acop.StatusReady {
		t.Errorf("%+v", docs)
	}

	before := r.must("", "export")
	revision := r.detail("work:find").Revision
	r.must("", "put", path, "--branch", "main")
	if after := r.must("", "export"); after != before || r.detail("work:find").Revision != revision {
		t.Errorf("the second put changed something:\n%s\n%s", before, after)
	}
}

// TestPutEditedTaskList: an edited list changes the items it made, never doubles
// them, and leaves to others what is theirs.
func TestPutEditedTaskList(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	path := file(t, "TODO.md", "- [ ] Whole\n  - [ ] Part one\n  - [ ] Part two\n- [ ] Other\n")
	r.must("", "put", path, "--write-ids")
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), "  - [ ] Part one <!-- id: task:whole/part-one -->\n") {
		t.Fatalf("%v %s", err, raw)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has another mode now: %v %v", info.Mode(), err)
	}
	r.must("", "block", "task:other", "--summary", "the lead's own")
	r.completeAs("agent:owl", "task:whole/part-one")
	r.must("", "accept", "task:whole/part-one")
	// Reworded, ticked, one more part, moved about.
	edited := strings.Replace(string(raw), "Part two", "Part two, but better", 1)
	edited = strings.Replace(edited, "- [ ] Part one", "- [x] Part one", 1)
	edited = strings.Replace(edited, "- [ ] Other", "  - [ ] Part three\n\n# Later\n- [ ] Other", 1)
	if err := os.WriteFile(path, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := r.must("", "put", path, "--dry-run"); !strings.Contains(out, "would change task:whole/part-two: title") || strings.Count(out, "would make") != 1 {
		t.Errorf("dry run: %s", out)
	}
	r.must("", "put", path)
	if out := r.must("", "list", "--json"); strings.Count(out, `"work_item_id":"task:`) < 5 || strings.Contains(out, "part-two-but") {
		t.Errorf("list: %s", out)
	}
	if it := r.detail("task:whole"); len(it.Blockers) != 2 || it.Status() != acop.StatusBlocked {
		t.Errorf("the whole waits for %+v", it.Blockers)
	}
	if it := r.detail("task:other"); len(it.Blockers) != 1 || it.Blockers[0].Summary != "the lead's own" || it.Status() != acop.StatusBlocked {
		t.Errorf("the lead's blocker is gone: %s %+v", it.Status(), it.Blockers)
	}
	// All parts out of the list: nothing is left to wait for.
	if err := os.WriteFile(path, []byte("- [ ] Whole <!-- id: task:whole -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.must("", "put", path)
	if it := r.detail("task:whole"); len(it.Blockers) != 0 || it.Status() != acop.StatusReady {
		t.Errorf("the whole still waits: %s %+v", it.Status(), it.Blockers)
	}
	// A closed item takes no change, and then nothing is put at all.
	r.must("", "cancel", "task:other", "--reason", "no need")
	got := r.work("- [ ] New\n- [ ] Other, again {#task:other}\n", "put", "-")
	if got.code != exitFailed || !strings.Contains(got.stderr, "standard input:2: task:other is cancelled and takes no change of its title") || !strings.Contains(got.stderr, "nothing was put") {
		t.Errorf("exit %d, %s", got.code, got.stderr)
	}
	if got := r.work("", "show", "task:new"); got.code != exitFailed {
		t.Errorf("half of a list was put: %s", got.stdout)
	}
}

// TestTaskListFaults: what is wrong with a list is told by its line, before anything
// is sent.
func TestTaskListFaults(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	for _, c := range []struct{ name, list, want string }{
		{"no tasks", "# Plan\n- a point\n", "holds no task"},
		{"empty", "", "holds no task"},
		{"no blank inside", "- [ ] a\n- [] b\n", ":2: this is nearly a task"},
		{"no blank before", "- [ ] a\n-[ ] b\n", ":2: this is nearly a task"},
		{"no blank behind", "- [ ]a\n", ":1: this is nearly a task"},
		{"braces that do not end", "- [ ] a\n- [ ] b {#work:b\n", `:2: "{#work:b" is not in braces at the end of the line`},
		{"braces that do not begin", "- [ ] b #work:b}\n", `:1: "#work:b}" is not in braces`},
		{"braces in the middle", "- [ ] b {#work:b} and more\n", `:1: "{#work:b}" is not in braces at the end`},
		{"a stop behind the braces", "- [ ] b {#work:b}.\n", `:1: "{#work:b}." is not in braces at the end`},
		{"a setting that does not end", "- [ ] b {priority=high\n", `:1: "{priority=high" is not in braces`},
		{"two pairs of braces", "- [ ] b {#x} {priority=high}\n", `:1: "{#x}" is not in braces at the end`},
		{"a comment that does not end", "- [ ] b <!-- id: x\n", ":1: \"<!-- id: x\" is not the comment with the id"},
		{"an id with a blank", "- [ ] b <!-- id: x y -->\n", "write <!-- id: ID -->, without blanks in the ID"},
		{"other mark", "- [ ] a\n\n- [?] b\n", ":3: this is nearly a task"},
		{"no text", "- [ ] a\n- [ ]\n", ":2: the task has no text"},
		{"twice", "- [ ] a\n- [ ] A!\n", ":2: line 1 is the same task"},
		{"id twice", "- [ ] a {#x}\n- [ ] b {#x}\n", ":2: line 1 is the same task"},
		{"two ids", "- [ ] a {#x} <!-- id: y -->\n", ":1: the task has two ids"},
		{"unknown attribute", "- [ ] a {#x colour=red}\n", ":1: colour is unknown here"},
		{"no value", "- [ ] a {kind=}\n", ":1: kind needs a value"},
		{"bad kind", "- [ ] a\n- [ ] b {kind=paint}\n", ":2: kind must be one of implement"},
		{"bad priority", "---\npriority: dire\n---\n- [ ] a\n", ":1: priority must be one of"},
		{"bad status", "- [ ] a {status=claimed}\n", ":1: status must be ready, blocked"},
		{"unknown setting", "---\nrepo: a\nbranhc: b\n---\n- [ ] a\n", ":3:1: unknown field"},
		{"open settings", "---\nrepo: a\n- [ ] a\n", ":1: the settings at the top have no end"},
		{"waits for itself", "- [ ] a {#x after=x}\n", ":1: the task waits for itself"},
		{"circle", "- [ ] a {#x after=y}\n- [ ] b {#y after=x}\n", "the task waits for itself"},
		{"unknown dependency", "- [ ] a\n- [ ] b {after=nowhere}\n", ":2: nowhere, for which it waits, is neither in the list nor at the owner"},
		{"zero", "- [ ] a&#0;\n", ":1: text with a zero character cannot be put"},
		{"escape", "- [ ] a {\x1b[2J=b}\n", ":1: "},
		{"not UTF-8", "- [ ] a\n- [ ] b\xff\n", ":2: the text is not UTF-8"},
		{"bare returns", "- [ ] a\r- [ ] b\r", ":1: a line ends in a way"},
		{"open code", "- [ ] a\n\n```\n- [ ] b\n``` go\n", ":3: the block of code that begins here has no end"},
		{"open comment", "- [ ] a\n<!--\n- [ ] b\n", ":2: the comment that begins here has no end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.work("", "put", file(t, "TODO.md", c.list))
			if got.code != exitUsage || !strings.Contains(got.stderr, c.want) || strings.Count(got.stderr, "\n") != 1 || got.stdout != "" || strings.ContainsRune(got.stderr, 0x1b) {
				t.Errorf("exit %d, stdout %q, stderr %q, want %q", got.code, got.stdout, got.stderr, c.want)
			}
		})
	}
	for _, args := range [][]string{
		{"put", "-", "--format", "xml"}, {"put", "-", "--repo", "x"}, {"put", "-", "--write-ids"},
		{"put", "-", "--format", "markdown", "--write-ids"}, {"put", "-", "--format", "markdown", "--kind", "paint"},
	} {
		in := "work_item_id: a\nwork_kind: repair\n"
		if strings.Contains(strings.Join(args, " "), "markdown") {
			in = "- [ ] a\n"
		}
		if got := r.work(in, args...); got.code != exitUsage || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, got.code, got.stderr)
		}
	}
	if out := r.must("", "list"); !strings.Contains(out, "no work items match") {
		t.Errorf("something was put: %s", out)
	}
	if out := r.must("- [x] a\n", "put", "-"); !strings.Contains(out, "nothing to put") {
		t.Errorf("a list that is done: %s", out)
	}
}

// TestWhatIsNoTask: comments and blocks of code are passed over, and a task that is
// ticked is waited for only where the owner has it.
func TestWhatIsNoTask(t *testing.T) {
	t.Parallel()
	r := newWorkRig(t)
	list := "<!-- - [ ] one -->\n- [ ] a {#a after=gone after=task:named}\n  <!--\n  - [ ] two\n  -[] three\n  -->\n  its text\n" +
		"  ```go\n  - [ ] four\n  ```python\n  ````\n```inline``` is no block\n- [ ] b\n- [x] gone {#gone}\n- [x] Named\n"
	out := r.must(list, "put", "-", "--format", "markdown", "--dry-run")
	if want := "would make a, ready\nwould make task:b, ready\n2 tasks left out: done in the list\n"; out != want {
		t.Errorf("put says\n%s\nwant\n%s", out, want)
	}
	l, err := readList("l", []byte(list), listSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(l.tasks[0].notes, "\n"), "its text\n```go\n- [ ] four\n```python\n````\n```inline``` is no block"; got != want {
		t.Errorf("the summary of the first task is\n%s\nwant\n%s", got, want)
	}
	r.must("- [ ] gone {#gone}\n", "put", "-", "--format", "markdown")
	if out := r.must(list, "put", "-", "--format", "markdown", "--dry-run"); !strings.Contains(out, "would make a, blocked") {
		t.Errorf("a ticked task that the owner has open is not waited for:\n%s", out)
	}
}

// TestTooLargeAnItemIsFoundBeforeTheFirstIsPut: what put refuses for its size is what
// the owner would, and an item alone is left to the owner.
func TestTooLargeAnItemIsFoundBeforeTheFirstIsPut(t *testing.T) {
	t.Parallel()
	r := newAgentRig(t)
	put := func(list string) (said string, code int) {
		cmd := r.command("work", "put", "-", "--format", "markdown")
		cmd.Stdin = strings.NewReader(list)
		out, _ := cmd.CombinedOutput() // the code tells
		return string(out), cmd.ProcessState.ExitCode()
	}
	longest, text := strings.Repeat("i", acop.MaxIDBytes), strings.Repeat("word ", maxItemBody/5)
	for _, c := range []struct{ list, want string }{
		{"- [ ] a\n- [ ] b {#" + longest + "i}\n", ":2: the id of the work item has 16385 bytes"},
		{"- [ ] b {#" + longest + "i}\n", ":1: the id of the work item has 16385 bytes"},
		{"- [ ] a\n- [ ] b {#b}\n  " + text + "\n", ":2: the work item has"},
		{"- [ ] b {#b}\n  " + text + "\n", string(acop.CodeTooLarge)},
	} {
		if said, code := put(c.list); code != exitFailed || !strings.Contains(said, c.want) {
			t.Errorf("exit %d and %.300q, want %q", code, said, c.want)
		}
	}
	if n := r.revision(); n != 0 {
		t.Errorf("the log moved to %d", n)
	}
	if said, code := put("- [ ] a {#" + longest + "}\n"); code != exitOK {
		t.Errorf("the longest id: exit %d and %.300q", code, said)
	}
	if status, raw, err := r.box.call(http.MethodPut, "work-items", itemDocument(longest+"i")); err != nil || status != http.StatusBadRequest {
		t.Errorf("the owner on a longer id: %d %.300s %v", status, raw, err)
	}
}

// hostile is text that would break out of a careless writer.
var hostile = []string{
	"", " ", "a", "- [ ] x", "# x", "1. x", "a\nb", "\n", "\n\na\n\nb\n\n", "  lead", "trail  ", "\ttab\t", "a\r\nb", "\x1b[31mred\x07",
	"{#id kind=review}", "<!-- id: x -->", "`code`", "```\n- [ ] x\n```", "~~~", "&amp;", "&#x41;", `\`, `\\n`, "a: b", "yes", "null", "1e3", "- x",
	"a #b", "'", `"`, "|", "> x", "%x", "@x", "!x", "&a", "*a", "?", "---", "...", "\u0085", "\u2028", "\ufeff", "\u202ertl", "\U0001F600", "\U000E0001",
	"\x7f", "[link](x)", "a\n \n  b", "===\n===", "| a |", "work:ü/ü", "key=value", "\u00a0",
}

// TestTextSurvives: whatever a stranger wrote comes back from Markdown and from YAML
// as it was, and nothing that does not print is in the file.
func TestTextSurvives(t *testing.T) {
	t.Parallel()
	check := func(t interface{ Errorf(string, ...any) }, s string) {
		id := "work:" + s
		it := &acop.Item{WorkItem: acop.WorkItem{WorkItemID: id, Title: s, Summary: s, TargetRepoID: s, Status: acop.StatusReady, WorkKind: acop.KindReview, Priority: acop.PriorityLow}}
		d := exportDocument(it, acop.StatusReady)
		md, err := exportMarkdown(it, d)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		if at := strings.IndexFunc(string(md), func(r rune) bool { return r != '\n' && !printable(r) }); at >= 0 {
			t.Errorf("%q is written as %q", s, md)
		}
		l, err := readList("list", md, listSettings{})
		if err != nil || len(l.items()) != 1 {
			t.Errorf("%q is written as %q: %v", s, md, err)
			return
		}
		got := l.items()[0].doc.WorkItem
		if got.WorkItemID != id || got.Title != s || got.Summary != s || got.TargetRepoID != s {
			t.Errorf("%q comes back as %+v from %q", s, got, md)
		}
		doc := map[string]any{"work_item": map[string]any{s + "k": s, "list": []any{s, map[string]any{"a": s, "b": []any{}}, []any{s}}}, "n": json.Number("1.5"), "e": map[string]any{}, "t": true}
		y, err := yamlDocument(doc)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		if at := strings.IndexFunc(string(y), func(r rune) bool { return r != '\n' && !printable(r) }); at >= 0 {
			t.Errorf("%q is written as %q", s, y)
		}
		back, err := readSources("y.yaml", y, "yaml")
		if err != nil || len(back) != 1 {
			t.Errorf("%q is written as %q: %v", s, y, err)
			return
		}
		if diff := cmp.Diff(any(doc), back[0].value); diff != "" {
			t.Errorf("%q is written as %q and comes back with %s", s, y, diff)
		}
	}
	for _, s := range hostile {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strings.ReplaceAll(rapid.OneOf(rapid.String(), rapid.StringMatching("[-a# \\n\\t`{}<>&;:x\\[\\]\\\\'\"|~=1.)]{0,12}")).Draw(t, "text"), "\x00", ""))
	})
}
