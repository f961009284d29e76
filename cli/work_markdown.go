package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"signalbox/model/acop"
	"signalbox/model/text"
	"signalbox/server/acmp"
)

// listSettings are what the items of a task list have in common: from flags, and from
// the front matter of the file where no flag says otherwise.
type listSettings struct {
	Repo     string `yaml:"repo"`
	Branch   string `yaml:"branch"`
	Agent    string `yaml:"agent"`
	Priority string `yaml:"priority"`
	Kind     string `yaml:"kind"`
	Prefix   string `yaml:"prefix"` // of the ids that are made
}

// listPrefix begins the ids of tasks where none is given.
const listPrefix = "task:"

// over lays s over the settings of a file.
func (s listSettings) over(file listSettings) listSettings {
	return listSettings{
		Repo: firstOf(s.Repo, file.Repo), Branch: firstOf(s.Branch, file.Branch), Agent: firstOf(s.Agent, file.Agent),
		Priority: firstOf(s.Priority, file.Priority), Kind: firstOf(s.Kind, file.Kind),
		Prefix: firstOf(s.Prefix, file.Prefix, listPrefix),
	}
}

func (s listSettings) check() error {
	if s.Kind != "" && !acop.WorkKind(s.Kind).Valid() {
		return fmt.Errorf("kind must be one of %s, not %s", names(acop.WorkKinds()), shown(s.Kind))
	}
	if s.Priority != "" && !acop.Priority(s.Priority).Valid() {
		return fmt.Errorf("priority must be one of %s, not %s", names(acop.Priorities()), shown(s.Priority))
	}
	return nil
}

// task is one line `- [ ] text` of a list.
type task struct {
	line   int // from 1
	indent int // columns before the mark
	body   int // columns before the text
	done   bool
	text   string
	id     string // given, or made at the end
	given  bool
	set    listSettings // what stands in braces
	status acop.Status
	after  []string // ids it waits for
	notes  []string // the lines below it
	parent *task
	below  []*task // open tasks that are part of it
	path   []string
}

// list is a Markdown file with tasks.
type list struct {
	name  string
	lines []string
	set   listSettings
	tasks []*task
}

func (l *list) errorf(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %w", l.name, line, fmt.Errorf(format, args...))
}

var (
	taskLine   = regexp.MustCompile(`^([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+)\[([ xX])\](?:[ \t]+(.*))?$`)
	headLine   = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	fenceLine  = regexp.MustCompile("^[ \t]*(?:(```+)[^`]*|(~~~+).*)$")
	idComment  = regexp.MustCompile(`[ \t]*<!--[ \t]*id:[ \t]*(\S+)[ \t]*-->[ \t]*$`)
	attributes = regexp.MustCompile(`(?:^|[ \t]+)\{([^{}\\]*)\}[ \t]*$`)
	// inlineCode is text that Markdown takes as it is.
	inlineCode = regexp.MustCompile("`[^`]*`")
	// almostAttributes is what somebody meant to stand in braces behind a task, or in the
	// comment with its id, and what would silently have become part of its text.
	almostAttributes = regexp.MustCompile(`(?:^|[^\\])(\{[ \t]*(?:#[^\s#]|(?:kind|priority|repo|branch|agent|status|after)=)[^ \t]*)` +
		`|(?:^|[ \t])(#[^\s{}#]+\})[ \t]*$|(?:^|[^\\])(<!--[ \t]*id:.*)`)
	// almostTask is what somebody meant to be a task.
	almostTask = regexp.MustCompile(`^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*\[[^\[\]()]?\](?:[^(\[:]|$)`)
)

// looksLikeList reports whether raw is a task list and no YAML: no YAML has such a
// line at its edge.
var looksLikeList = regexp.MustCompile(`(?m)^[-*+] \[[ xX]\] \S`)

// readList reads a task list. It is right as a whole, or an error names the line.
func readList(name string, raw []byte, flags listSettings) (*list, error) {
	raw = []byte(strings.TrimPrefix(string(raw), "\ufeff"))
	l := &list{name: name, lines: strings.Split(strings.ReplaceAll(string(raw), "\r\n", "\n"), "\n")}
	for i, s := range l.lines {
		switch {
		case !utf8.ValidString(s):
			return nil, l.errorf(i+1, "the text is not UTF-8; save the file as UTF-8")
		case strings.ContainsRune(s, '\r'):
			return nil, l.errorf(i+1, "a line ends in a way that is not read here; save the file with line ends of Unix or Windows")
		}
	}
	body, err := l.frontMatter()
	if err != nil {
		return nil, err
	}
	l.set = flags.over(l.set)
	if err := l.set.check(); err != nil {
		return nil, l.errorf(1, "%w", err)
	}
	r := &listReader{list: l}
	for i := body; i < len(l.lines); i++ {
		if err := r.take(i+1, l.lines[i]); err != nil {
			return nil, err
		}
	}
	switch {
	case r.fence != "":
		return nil, l.errorf(r.from, "the block of code that begins here has no end; close it with %s", r.fence)
	case r.comment:
		return nil, l.errorf(r.from, "the comment that begins here has no end; close it with -->")
	case len(l.tasks) == 0:
		return nil, fmt.Errorf("%s holds no task; a task is a line like `- [ ] text`", name)
	}
	return l, l.finish()
}

// frontMatter reads what stands between two lines of --- at the top, and gives the
// index of the line behind it.
func (l *list) frontMatter() (int, error) {
	if strings.TrimRight(l.lines[0], " \t") != "---" {
		return 0, nil
	}
	end := slices.IndexFunc(l.lines[1:], func(s string) bool { return strings.TrimRight(s, " \t") == "---" })
	if end < 0 {
		return 0, l.errorf(1, "the settings at the top have no end; close them with a line of ---")
	}
	// The first line stays, as an empty one, so that errors name the right line.
	doc := "\n" + strings.Join(l.lines[1:1+end], "\n")
	if err := acmp.CheckText(l.name, []byte(doc)); err != nil {
		return 0, err
	}
	if err := yaml.UnmarshalWithOptions([]byte(doc), &l.set, yaml.Strict()); err != nil {
		return 0, configError(l.name, err)
	}
	return end + 2, nil
}

// listReader goes through a list line by line.
type listReader struct {
	*list
	heads   []string // the headings above, by level
	open    []*task  // the task above and those around it
	blank   int      // empty lines since the last one
	fence   string   // what ends the block of code; "" outside of one
	comment bool     // inside of a comment of several lines
	from    int      // line at which the block or comment begins
}

func (r *listReader) take(n int, s string) error {
	if r.fence != "" {
		// A longer row ends it as well, but nothing may stand behind it.
		if end := strings.TrimSpace(s); strings.HasPrefix(end, r.fence) && strings.Trim(end, r.fence[:1]) == "" {
			r.fence = ""
		}
		r.note(s, true)
		return nil
	}
	if begins := strings.HasPrefix(strings.TrimSpace(s), "<!--"); r.comment || begins { // what is taken out is no task and no note
		if begins && !r.comment {
			r.from = n
		}
		r.comment = !strings.Contains(s, "-->")
		return nil
	}
	if strings.TrimSpace(s) == "" {
		r.blank++
		return nil
	}
	if m := taskLine.FindStringSubmatch(s); m != nil {
		return r.task(n, m)
	}
	if almostTask.MatchString(s) {
		return r.errorf(n, "this is nearly a task: write `- [ ] text` for one to do, `- [x] text` for one that is done")
	}
	if m := headLine.FindStringSubmatch(s); m != nil {
		level := len(m[1])
		r.heads = append(r.heads[:min(level-1, len(r.heads))], make([]string, max(0, level-1-len(r.heads)))...)
		r.heads = append(r.heads, markdownText(m[2]))
		r.open, r.blank = nil, 0
		return nil
	}
	if m := fenceLine.FindStringSubmatch(s); m != nil {
		r.fence, r.from = m[1]+m[2], n
		r.note(s, true)
		return nil
	}
	r.note(s, false)
	return nil
}

// note keeps a line that belongs to the task above: one that is indented at least as
// far as its text, or that follows directly.
func (r *listReader) note(s string, raw bool) {
	blank := r.blank
	r.blank = 0
	for len(r.open) > 0 {
		t := r.open[len(r.open)-1]
		if columns(s) > t.indent || blank == 0 && columns(s) == 0 && !raw {
			if len(t.notes) > 0 {
				t.notes = append(t.notes, make([]string, blank)...)
			}
			s = dedent(s, t.body)
			if !raw {
				s = markdownText(strings.TrimRight(s, " \t"))
			}
			t.notes = append(t.notes, s)
			return
		}
		r.open = r.open[:len(r.open)-1]
	}
}

func (r *listReader) task(n int, m []string) error {
	t := &task{line: n, indent: columns(m[1]), done: m[4] != " "}
	t.body = t.indent + len(m[2]) + 1
	rest := strings.TrimSpace(m[5])
	if err := t.attributes(&rest); err != nil {
		return r.errorf(n, "%w", err)
	}
	if t.text = markdownText(rest); strings.TrimSpace(t.text) == "" && !t.given {
		return r.errorf(n, "the task has no text")
	}
	for len(r.open) > 0 && r.open[len(r.open)-1].indent >= t.indent {
		r.open = r.open[:len(r.open)-1]
	}
	t.path = slices.DeleteFunc(slices.Clone(r.heads), func(s string) bool { return s == "" })
	if len(r.open) > 0 {
		t.parent = r.open[len(r.open)-1]
		t.path = append(slices.Clone(t.parent.path), t.parent.text)
	}
	r.open, r.blank = append(r.open, t), 0
	r.tasks = append(r.tasks, t)
	return nil
}

// attributes takes `{#id key=value …}` or `<!-- id: … -->` off the end of a task.
func (t *task) attributes(rest *string) error {
	if m := idComment.FindStringSubmatchIndex(*rest); m != nil {
		t.id, t.given = markdownText((*rest)[m[2]:m[3]]), true
		*rest = strings.TrimSpace((*rest)[:m[0]])
	}
	m := attributes.FindStringSubmatchIndex(*rest)
	if m == nil {
		return almost(*rest)
	}
	words := strings.Fields((*rest)[m[2]:m[3]])
	if len(words) == 0 || !strings.HasPrefix(words[0], "#") && !strings.Contains(words[0], "=") {
		return almost(*rest) // braces of the text's own
	}
	for _, w := range words {
		if err := t.attribute(w); err != nil {
			return err
		}
	}
	*rest = strings.TrimSpace((*rest)[:m[0]])
	if err := almost(*rest); err != nil {
		return err
	}
	return t.set.check()
}

// almost refuses text in which an id or a setting was meant: without it the task would
// get another id, and be another item.
func almost(s string) error {
	m := almostAttributes.FindStringSubmatch(inlineCode.ReplaceAllString(s, "``"))
	if m == nil {
		return nil
	}
	if m[3] != "" {
		return fmt.Errorf("%s is not the comment with the id of the task; write <!-- id: ID -->, without blanks in the ID, at the end of the line", shown(m[3]))
	}
	return fmt.Errorf("%s is not in braces at the end of the line, as in `- [ ] text {#id priority=high}`; write \\{ for a brace of the text", shown(m[1]+m[2]))
}

func (t *task) attribute(w string) error {
	if id, ok := strings.CutPrefix(w, "#"); ok {
		if t.given {
			return errors.New("the task has two ids")
		}
		t.id, t.given = markdownText(id), true
		if id == "" {
			return errors.New("the id behind # is missing")
		}
		return nil
	}
	key, value, _ := strings.Cut(w, "=")
	value = markdownText(value)
	set := map[string]*string{"kind": &t.set.Kind, "priority": &t.set.Priority, "repo": &t.set.Repo, "branch": &t.set.Branch, "agent": &t.set.Agent}
	switch {
	case value == "":
		return fmt.Errorf("%s needs a value, as in {#id priority=high}", text.ID(key))
	case key == "after":
		t.after = append(t.after, value)
	case key == "status":
		if t.status = acop.Status(value); !acop.CanStart(t.status) {
			return fmt.Errorf("status must be ready, blocked or requires_attention, not %s", shown(value))
		}
	case set[key] != nil:
		*set[key] = value
	default:
		return fmt.Errorf("%s is unknown here; known are #id, kind, priority, repo, branch, agent, status and after", text.ID(key))
	}
	return nil
}
