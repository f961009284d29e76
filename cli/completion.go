package cli

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

const (
	// completionPatience bounds asking the owner while somebody waits at a prompt.
	completionPatience = time.Second
	// completionMost is how many work items are proposed.
	completionMost = 200
)

// proposable is an id that a shell may put on the command line as it is. Ids are a
// stranger's text: others are not proposed, but can be typed.
var proposable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$`)

// completeItems proposes the work items in one of the statuses, the latest first.
// Where the owner does not answer at once nothing is proposed and nothing said.
func (g *globals) completeItems(status ...acop.Status) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !strings.Contains(cmd.Use, "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(ctx, completionPatience)
		defer cancel()
		w, done, err := g.openWork(ctx, false)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer done()
		page, err := w.c.Items(ctx, client.Query{Status: status, Limit: completionMost})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, r := range page.WorkItems {
			id := r.WorkItem.WorkItemID
			if strings.HasPrefix(id, begun) && proposable.MatchString(id) && !slices.Contains(args, id) {
				out = append(out, cobra.CompletionWithDesc(id, text.Clip(text.Line(string(r.Status)+": "+r.WorkItem.Title), 60)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// flagWords are what flags of a closed set take, by the command below signalbox and
// the flag; "" stands for every command that has it.
var flagWords = map[[2]string][]string{
	{"", "status"}:              wordsOf(acop.Statuses()),
	{"", "priority"}:            wordsOf(acop.Priorities()),
	{"", "severity"}:            {"low", "medium", "high", "critical"},
	{"", "family"}:              wordsOf(acop.Families()),
	{"", "grant-mode"}:          {"auto", "lead", "rules"},
	{"", "order"}:               {"latest", "score", "priority"},
	{"", "role"}:                {"worker", "producer", "lead", "orchestrator", "reader"},
	{"work post", "kind"}:       wordsOf(acop.EntryKinds()),
	{"work send-back", "kind"}:  {"repair", "handoff_followup"},
	{"work put", "kind"}:        wordsOf(acop.WorkKinds()),
	{"work put", "format"}:      putFormats,
	{"work export", "format"}:   {"json", "yaml", "markdown"},
	{"work resolve", "to"}:      {"ready", "blocked"},
	{"work resolve", "blocker"}: acop.ReservedBlockers(),
	{"work block", "blocker"}:   acop.ReservedBlockers(),
	{"work unblock", "blocker"}: acop.ReservedBlockers(),
}

// Flags that take the name of a file or a folder; no other proposes any.
var (
	fileFlags = []string{"token-file", "config", "log-file", "tokens", "tls-cert", "tls-key", "client-ca"}
	dirFlags  = []string{"data", "state"}
	itemFlags = []string{"by", "depends-on", "item"}
)

// complete gives every flag below and including cmd what a shell proposes for it.
func (g *globals) complete(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		words, closed := flagWords[[2]string{strings.TrimPrefix(cmd.CommandPath(), "signalbox "), f.Name}]
		if !closed {
			words, closed = flagWords[[2]string{"", f.Name}]
		}
		propose := cobra.CompletionFunc(cobra.NoFileCompletions)
		switch {
		case f.Value.Type() == "bool":
			return
		case closed:
			propose = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		case slices.Contains(itemFlags, f.Name):
			items := g.completeItems()
			propose = func(c *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return items(c, nil, begun)
			}
		case slices.Contains(fileFlags, f.Name):
			propose = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveDefault
			}
		case slices.Contains(dirFlags, f.Name):
			propose = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, propose) // fails where the command has one of its own
	})
	for _, sub := range cmd.Commands() {
		g.complete(sub)
	}
}

// completeIdentities proposes who has a token in the file that list names.
func completeIdentities(list func() string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		t, err := tokensIn(list())
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, c := range t.Callers() {
			if strings.HasPrefix(c.Identity, begun) && proposable.MatchString(c.Identity) {
				out = append(out, cobra.CompletionWithDesc(c.Identity, string(c.Role)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
