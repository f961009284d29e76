package cli

import (
	"fmt"
	"strings"
)

// The exit codes of every subcommand.
const (
	exitOK          = 0
	exitFailed      = 1   // the work was refused or failed
	exitUsage       = 2   // flags, files or the terminal are not as needed
	exitUnreachable = 3   // nobody answers, or not with what is needed
	exitInterrupted = 130 // ctrl+c
	exitReaderGone  = 141 // nobody reads the output any more: 128 + SIGPIPE
)

// exitCodes is what help, manual and docs say of them.
var exitCodes = []struct{ code, means string }{
	{fmt.Sprint(exitOK), "done"},
	{fmt.Sprint(exitFailed), "refused or failed: the owner or the provider said no, or a check of doctor failed"},
	{fmt.Sprint(exitUsage), "wrong usage: flags, files or the terminal are not as needed; nothing was changed"},
	{fmt.Sprint(exitUnreachable), "nobody answers, or not with what is needed"},
	{fmt.Sprint(exitInterrupted), "interrupted by ctrl+c"},
	{fmt.Sprint(exitReaderGone), "whoever read the output went away, as head does; a task is cancelled first"},
	{"128 + n", "the dashboard was ended by signal n"},
}

// exitCodeHelp is the list of them for a help text.
func exitCodeHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %-7s  %s\n", e.code, e.means)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
