package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
)

// TestDocsNameWhatTheProgramHas: every command and flag that a page names is there.
func TestDocsNameWhatTheProgramHas(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all pages, and nothing beside")
	}
	t.Parallel()
	pages := append(guides(t), filepath.Join("..", "README.md"))
	more, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, path := range append(pages, more...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, words := range namedCommands(string(raw)) {
			named++
			if err := commandIsThere(words); err != nil {
				t.Errorf("%s: `%s`: %v", path, strings.Join(words, " "), err)
			}
		}
	}
	if named < 100 {
		t.Errorf("only %d commands were found in the pages", named)
	}
	for _, gone := range []string{"signalbox wrok", "signalbox work list --colour", "signalbox token add x --rule worker"} {
		if commandIsThere(strings.Fields(gone)) == nil {
			t.Errorf("%q counts as a command", gone)
		}
	}
}

var (
	quotedWords  = regexp.MustCompile(`'[^'\n]*'|"[^"\n]*"`)
	namedCommand = regexp.MustCompile("(?m)(?:^|[`;|(&]|\\bthen|\\bdo) *(?:\\./)?(signalbox(?: +[^\\s|;&<>()#`]+)*)")
	codeSpan     = regexp.MustCompile("(?s)```(?:sh|console[^\n]*)\n.*?```|``?[^`]+``?")
)

// namedCommands are the calls of signalbox in the code of a page, each as its words.
func namedCommands(page string) (calls [][]string) {
	for _, code := range codeSpan.FindAllString(page, -1) {
		code = quotedWords.ReplaceAllString(code, "Q")
		for _, m := range namedCommand.FindAllStringSubmatch(code, -1) {
			calls = append(calls, strings.Fields(m[1]))
		}
	}
	return calls
}

// commandIsThere reports what the program does not know of a call.
func commandIsThere(words []string) error {
	cmd, rest := tree(), words[1:]
	for len(rest) > 0 {
		var next *cobra.Command
		for _, c := range cmd.Commands() {
			if c.Name() == rest[0] {
				next = c
			}
		}
		if next == nil {
			break
		}
		cmd, rest = next, rest[1:]
	}
	standsFor := func(word string) bool { return strings.ContainsAny(word, "…|") || word != strings.ToLower(word) }
	if len(rest) > 0 && cmd.HasAvailableSubCommands() && !strings.HasPrefix(rest[0], "-") && !standsFor(rest[0]) && rest[0] != "[flags]" && cmd.Name() != "mcp" {
		return fmt.Errorf("%s has no %q", cmd.CommandPath(), rest[0])
	}
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if !isFlag || name == "" || name == "help" || name == "version" {
			continue
		}
		if cmd.Flags().Lookup(name) == nil && cmd.InheritedFlags().Lookup(name) == nil {
			return fmt.Errorf("%s has no --%s", cmd.CommandPath(), name)
		}
	}
	return nil
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// TestLinksLeadSomewhere: every link between pages leads to a file, and one with # to a
// heading in it. Every page is in the index.
func TestLinksLeadSomewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all pages, and nothing beside")
	}
	t.Parallel()
	index, err := os.ReadFile(filepath.Join("..", "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, guides(t)...)
	for _, path := range pages {
		name, err := filepath.Rel(filepath.Join("..", "docs"), path)
		if err == nil && name != "README.md" && !strings.Contains(string(index), "("+filepath.ToSlash(name)+")") {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
	for _, path := range append(pages, filepath.Join("..", "README.md")) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pageLink.FindAllStringSubmatch(string(raw), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if err := leadsSomewhere(path, m[1]); err != nil {
				t.Errorf("%s: %s: %v", path, m[1], err)
			}
		}
	}
}

// leadsSomewhere looks for what a link on a page leads to.
func leadsSomewhere(page, link string) error {
	file, anchor, _ := strings.Cut(link, "#")
	if file = filepath.Join(filepath.Dir(page), filepath.FromSlash(file)); strings.HasPrefix(link, "#") {
		file = page
	}
	info, err := os.Stat(file)
	if err != nil || info.IsDir() || anchor == "" {
		return err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, m := range heading.FindAllStringSubmatch(string(raw), -1) {
		if strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return nil
		}
	}
	return fmt.Errorf("there is no such heading")
}

// TestEventsPageNamesAll: the page on events has every family, verb and member.
func TestEventsPageNamesAll(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, v := range []acop.Verb{
		acop.VerbPut, acop.VerbClaim, acop.VerbRenew, acop.VerbRelease, acop.VerbComplete, acop.VerbAccept, acop.VerbPost,
		acop.VerbHeartbeat, acop.VerbRevoke, acop.VerbCancel, acop.VerbSupersede, acop.VerbSendBack, acop.VerbBlock,
		acop.VerbUnblock, acop.VerbResolve, acop.VerbRequeue, acop.VerbConsume, acop.VerbGrant, acop.VerbDeny,
		acop.VerbSettings, acop.VerbExpire, acop.VerbRefused, acop.VerbIntent, acop.VerbIntentGone,
	} {
		want = append(want, string(v))
	}
	for _, f := range acop.Families() {
		want = append(want, string(f))
	}
	for f := range reflect.TypeFor[acop.Event]().Fields() {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, member)
	}
	for _, word := range want {
		if !strings.Contains(string(raw), "`"+word+"`") {
			t.Errorf("docs/events.md does not name %s", word)
		}
	}
}
