package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guideBlock is one fenced block of a guide.
//
//	sh       typed line by line; every command must end with 0
//	text     what the sh block before it puts out
//	keys     KEYS → WHAT MUST BE SEEN, one step a line
//	console  shown and not run; the words behind it say why
type guideBlock struct {
	kind  string
	in    string // name of the terminal; "" = the one in which the guide began
	exit  int    // with which code the last command of a sh block ends
	stays bool   // the last command of a sh block goes on: a server, a dashboard
	why   string // of a console block
	line  int    // of its first line in the guide
	lines []string
	shows []string // of a sh block: the text block that follows; nil = anything
}

// guideBlocks reads the fenced blocks of a guide.
func guideBlocks(text string) (blocks []guideBlock, err error) {
	var b *guideBlock
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case b == nil && isFence:
			if b, err = newGuideBlock(fence); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			b.line = i + 2
		case isFence:
			if blocks, err = addGuideBlock(blocks, *b); err != nil {
				return nil, fmt.Errorf("line %d: %w", b.line, err)
			}
			b = nil
		case b != nil:
			b.lines = append(b.lines, line)
		}
	}
	if b != nil {
		return nil, fmt.Errorf("line %d: the block is not closed", b.line)
	}
	return blocks, nil
}

func newGuideBlock(info string) (*guideBlock, error) {
	kind, rest, _ := strings.Cut(info, " ")
	b := &guideBlock{kind: kind}
	switch kind {
	case "text":
		return b, nil
	case "console":
		if b.why = strings.TrimSpace(rest); b.why == "" {
			return nil, fmt.Errorf("a console block must say why it is not run")
		}
		return b, nil
	case "sh", "keys":
	default:
		return nil, fmt.Errorf("a guide has no blocks of the kind %q", kind)
	}
	for _, word := range strings.Fields(rest) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "in":
			b.in = value
		case "stays":
			b.stays = true
		case "exit":
			if _, err := fmt.Sscan(value, &b.exit); err != nil {
				return nil, fmt.Errorf("exit=%s is no exit code", value)
			}
		default:
			return nil, fmt.Errorf("a block of the kind %s has no %q", kind, word)
		}
	}
	return b, nil
}

// addGuideBlock appends b; what a command shows goes with the command.
func addGuideBlock(blocks []guideBlock, b guideBlock) ([]guideBlock, error) {
	if b.kind != "text" {
		return append(blocks, b), nil
	}
	if len(blocks) == 0 || blocks[len(blocks)-1].kind != "sh" || blocks[len(blocks)-1].shows != nil {
		return nil, fmt.Errorf("a text block must follow the sh block that puts it out")
	}
	blocks[len(blocks)-1].shows = b.lines
	return blocks, nil
}

// guideWildcards are the words of a guide that stand for what differs each time.
var guideWildcards = map[string]string{
	"…":       `[^\n]*?`,
	"<age>":   `(?:\d+(?:\.\d+)?(?:µs|ms|s|m|h|d))+`,
	"<id>":    `[A-Za-z0-9_-]+`,
	"<n>":     `\d+`,
	"<port>":  `\d{2,5}`,
	"<time>":  `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
	"<token>": `[A-Za-z0-9_-]{40,}`,
}

var guideWildcard = regexp.MustCompile(`…|<[a-z]+>`)

// guidePattern is the regular expression for one line of a guide.
func guidePattern(line string) string {
	var p strings.Builder
	for line != "" {
		at := guideWildcard.FindStringIndex(line)
		if at == nil {
			break
		}
		p.WriteString(regexp.QuoteMeta(line[:at[0]]))
		word := line[at[0]:at[1]]
		if any, known := guideWildcards[word]; known {
			p.WriteString(any)
		} else {
			p.WriteString(regexp.QuoteMeta(word))
		}
		line = line[at[1]:]
	}
	return p.String() + regexp.QuoteMeta(line)
}

// guideShows reports whether the output is what the guide shows: the same lines, where
// a line of … alone stands for any number of them and any run of blanks for another.
func guideShows(want []string, output string) bool {
	var p strings.Builder
	for _, line := range want {
		if line = oneBlank(line); line == "…" {
			p.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		p.WriteString(guidePattern(line) + `\n`)
	}
	return regexp.MustCompile(`\A` + p.String() + `\z`).MatchString(oneBlank(strings.TrimRight(output, "\n")) + "\n")
}

var blanks = regexp.MustCompile(`  +`)

// oneBlank takes the width of columns away, which hangs on what stands in them.
func oneBlank(s string) string {
	return blanks.ReplaceAllString(strings.TrimRight(s, " "), " ")
}

// TestGuidePatterns: what a guide shows is held against the output line by line.
func TestGuidePatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want   []string
		output string
		fits   bool
	}{
		{[]string{"a (b)"}, "a (b)\n", true},
		{[]string{"a (b)"}, "a b\n", false},
		{[]string{"a"}, "a\nb\n", false},
		{[]string{"a", "…"}, "a\nb\nc", true},
		{[]string{"…", "c"}, "a\nb\nc", true},
		{[]string{"…", "b"}, "a\nb\nc", false},
		{[]string{"a … c"}, "a b\nc", false},
		{[]string{"<age> left, <n> items at :<port>"}, "9m59s left, 3 items at :7180", true},
		{[]string{"<age> left"}, "soon left", false},
		{[]string{"<other>"}, "<other>", true},
		{[]string{"A     B"}, "A  B", true},
		{[]string{"A B"}, "AB", false},
	} {
		if fits := guideShows(c.want, c.output); fits != c.fits {
			t.Errorf("%q against %q: %t", c.want, c.output, fits)
		}
	}
}

// guides are the pages in docs/guides, by path.
func guides(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "docs", "guides", "*.md"))
	if err != nil || len(paths) < 7 {
		t.Fatalf("%q %v: guides are missing", paths, err)
	}
	return paths
}

// TestGuidesRunAsWritten types every guide, as it stands, into real terminals of a
// fresh home and compares what is seen with what the guide shows.
func TestGuidesRunAsWritten(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	for _, path := range guides(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".md"), func(t *testing.T) {
			t.Parallel()
			newDesk(t, filepath.Base(path) == firstGuide).follow(path)
		})
	}
}

// firstGuide is the one that builds the program, in a fresh clone.
const firstGuide = "first-ten-minutes.md"

var guideLink = regexp.MustCompile(`\(guides/([a-z-]+\.md)\)`)

// TestGuidesFollowOneAnother types all guides, in the order in which the index lists
// them, into the same terminals of one home: none trips over what another left.
func TestGuidesFollowOneAnother(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	index, err := os.ReadFile(filepath.Join("..", "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, m := range guideLink.FindAllStringSubmatch(string(index), -1) {
		if !slices.Contains(order, m[1]) {
			order = append(order, m[1])
		}
	}
	if len(order) != len(guides(t)) || order[0] != firstGuide {
		t.Fatalf("the index lists %q, and there are %q", order, guides(t))
	}
	d := newDesk(t, true)
	for _, name := range order {
		t.Log(name)
		d.follow(filepath.Join("..", "docs", "guides", name))
		d.wipe()
	}
}

// TestReadmeRunsAsWritten: the first command of the README opens a demo in a fresh
// clone, and q leaves it.
func TestReadmeRunsAsWritten(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(raw), "```sh\n")
	line, _, _ := strings.Cut(block, "\n")
	if !strings.HasPrefix(line, "go run . demo") {
		t.Fatalf("the README begins with %q", line)
	}
	term := newDesk(t, true).terminal("")
	term.typeBlock(guideBlock{kind: "sh", stays: true, lines: []string{line}})
	term.pressBlock(guideBlock{kind: "keys", lines: []string{"→ NEEDS YOU | LIVE TASKS", "2 → ─ Board", "q → $"}})
}
