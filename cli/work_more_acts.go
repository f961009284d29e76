package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
)

func newWorkBlock(g *globals) *cobra.Command {
	var dependsOn, severity string
	return (&workAct{
		use: "block", short: "Block a ready item until something is settled", done: "blocked",
		example: "  signalbox work block work:shop/checkout --summary 'which currency first?'\n" +
			"  signalbox work block work:shop/checkout --depends-on work:shop/prices --summary 'needs the price list'",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.code, "blocker", "", "blocker code (default "+acop.BlockerExternalDecision+"; with --depends-on "+acop.BlockerDependency+")")
			cmd.Flags().StringVar(&severity, "severity", string(acop.SeverityMedium), "low, medium, high or critical")
			cmd.Flags().StringVar(&f.summary, "summary", "", "what it waits for, in one line")
			cmd.Flags().StringVar(&dependsOn, "depends-on", "", "id of the work item it waits for")
			cmd.Flags().StringVar(&f.reason, "note", "", "why, for the log")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			b := &acop.Blocker{BlockerCode: f.code, Severity: acop.Severity(severity), Summary: f.summary, DependsOnWorkItemID: dependsOn}
			switch {
			case !b.Severity.Valid():
				return acop.Act{}, fmt.Errorf("--severity must be low, medium, high or critical, not %q", severity)
			case strings.TrimSpace(f.summary) == "":
				return acop.Act{}, fmt.Errorf("--summary is missing: say what it waits for")
			case b.BlockerCode == "" && dependsOn != "":
				b.BlockerCode = acop.BlockerDependency
			case b.BlockerCode == "":
				b.BlockerCode = acop.BlockerExternalDecision
			}
			return acop.Act{Verb: acop.VerbBlock, WorkItemID: d.Item.ID(), Blocker: b, Reason: f.reason}, nil
		},
	}).command(g)
}

func newWorkUnblock(g *globals) *cobra.Command {
	return (&workAct{
		use: "unblock", short: "Take a blocker off an item", done: "unblocked",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&f.code, "blocker", "", "code of the blocker (default: the only one)")
			cmd.Flags().StringVar(&f.reason, "note", "", "why, for the log")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			code, n := f.code, len(d.Item.Blockers)
			if code == "" && n == 1 {
				code = d.Item.Blockers[0].BlockerCode
			} else if n == 0 {
				return acop.Act{}, acop.Errorf(acop.CodeNotActionable, "it has no blocker; it is %s", d.Item.Status())
			} else if code == "" {
				return acop.Act{}, fmt.Errorf("%d blockers are on this item; say which with --blocker", n)
			}
			return acop.Act{Verb: acop.VerbUnblock, WorkItemID: d.Item.ID(), BlockerCode: code, Reason: f.reason}, nil
		},
	}).command(g)
}

func newWorkSupersede(g *globals) *cobra.Command {
	var by string
	return (&workAct{
		use: "supersede", short: "Close an item in favour of another", done: "superseded",
		flags: func(cmd *cobra.Command, f *actFlags) {
			cmd.Flags().StringVar(&by, "by", "", "id of the work item that takes its place")
			cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the log")
		},
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			if by == "" {
				return acop.Act{}, fmt.Errorf("--by is missing: name the work item that takes its place")
			}
			return acop.Act{Verb: acop.VerbSupersede, WorkItemID: d.Item.ID(), SupersededBy: by, Reason: f.reason}, nil
		},
	}).command(g)
}

func newWorkRequeue(g *globals) *cobra.Command {
	return noteAct(g, "requeue", "Put a released item back on the market", "requeued", acop.VerbRequeue)
}

func newWorkConsume(g *globals) *cobra.Command {
	return noteAct(g, "consume", "Mark accepted work as taken up, for good", "consumed", acop.VerbConsume)
}

// noteAct is an act that takes nothing but a note.
func noteAct(g *globals, use, short, done string, verb acop.Verb) *cobra.Command {
	return (&workAct{
		use: use, short: short, done: done,
		flags: reasonFlag("note", "why, for the log"),
		make: func(d *acop.Detail, f *actFlags) (acop.Act, error) {
			return acop.Act{Verb: verb, WorkItemID: d.Item.ID(), Reason: f.reason}, nil
		},
	}).command(g)
}
