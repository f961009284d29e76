package cli

import (
	"github.com/spf13/pflag"

	"signalbox/model/acop"
)

// workActs are the acts on one work item, in the order of an item's life.
var workActs = []workAct{
	{
		use: "grant", short: "Grant the waiting request for an item, or the item to --to WORKER", done: "granted",
		verb: acop.VerbGrant, from: []acop.Status{acop.StatusReady}, leads: true,
		why: why{name: "reason", help: "why a waiting request is granted, for the log"},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.to, "to", "", "identity of the worker")
			fl.DurationVar(&f.ttl, "ttl", 0, "term of the lease (default: as asked for, or 15m)")
		},
		check: checkGrant, fill: fillGrant,
	},
	{
		use: "deny", short: "Deny the waiting request for an item", done: "denied the request for",
		verb: acop.VerbDeny, from: []acop.Status{acop.StatusReady}, leads: true,
		why: why{name: "reason", help: "why; the worker reads it", must: true},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.to, "to", "", "identity of the worker, where several wait")
		},
		fill: fillDeny,
	},
	{
		use: "revoke", short: "Take the claim on an item back", done: "revoked the claim on",
		verb: acop.VerbRevoke, from: []acop.Status{acop.StatusClaimed}, leads: true,
		why: why{name: "reason", help: "why; the worker reads it", must: true},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.BoolVar(&f.hold, "hold", false, "keep the item off the market (released) until it is requeued")
			fl.StringVar(&f.claim, "claim", "", "only if this is the claim")
		},
		fill: fillRevoke,
	},
	{
		use: "cancel", short: "Cancel an item for good", done: "cancelled",
		verb: acop.VerbCancel,
		why:  why{name: "reason", help: "why; it stands in the log", must: true},
	},
	{
		use: "accept", short: "Accept completed work on its evidence", done: "accepted",
		verb: acop.VerbAccept, from: []acop.Status{acop.StatusCompleted},
		why: why{name: "notes", help: "notes for the log"},
	},
	{
		use: "send-back", short: "Refuse completed work; a successor carries the reason", done: "sent back",
		verb: acop.VerbSendBack, from: []acop.Status{acop.StatusCompleted},
		why: why{name: "reason", help: "what is wrong; it goes to the successor", must: true},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.kind, "kind", "", "work_kind of the successor: repair (default) or handoff_followup")
		},
		check: checkSendBack, fill: fillSendBack,
	},
	{
		use: "resolve", short: "Decide an item that requires attention", done: "resolved",
		verb: acop.VerbResolve, from: []acop.Status{acop.StatusRequiresAttention},
		why: why{name: "note", help: "the decision; it becomes an entry on the blackboard", must: true},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.to, "to", "ready", "ready or blocked")
			fl.StringVar(&f.code, "blocker", "", "with --to blocked: the blocker code (default "+acop.BlockerExternalDecision+")")
			fl.StringVar(&f.summary, "blocker-summary", "", "with --to blocked: what it waits for (default: the note)")
		},
		check: checkResolve, fill: fillResolve,
	},
	{
		use: "post", short: "Post an entry on the blackboard of an item", done: "posted on",
		verb: acop.VerbPost,
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.kind, "kind", string(acop.EntryFinding), "one of "+names(acop.EntryKinds()))
			fl.StringVar(&f.summary, "summary", "", "one line")
			fl.StringVar(&f.details, "details", "", "the rest")
			fl.StringArrayVar(&f.supersedes, "supersedes", nil, "id of an entry this one replaces (repeatable)")
		},
		check: checkPost, fill: fillPost,
	},
	{
		use: "block", short: "Block a ready item until something is settled", done: "blocked",
		verb: acop.VerbBlock, from: []acop.Status{acop.StatusReady},
		example: "  signalbox work block work:shop/checkout --summary 'which currency first?'\n" +
			"  signalbox work block work:shop/checkout --depends-on work:shop/prices --summary 'needs the price list'",
		why: why{name: "note", help: "why, for the log"},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.code, "blocker", "", "blocker code (default "+acop.BlockerExternalDecision+"; with --depends-on "+acop.BlockerDependency+")")
			fl.StringVar(&f.severity, "severity", string(acop.SeverityMedium), "low, medium, high or critical")
			fl.StringVar(&f.summary, "summary", "", "what it waits for, in one line")
			fl.StringVar(&f.dependsOn, "depends-on", "", "id of the work item it waits for")
		},
		check: checkBlock, fill: fillBlock,
	},
	{
		use: "unblock", short: "Take a blocker off an item", done: "unblocked",
		verb: acop.VerbUnblock, from: []acop.Status{acop.StatusBlocked},
		why: why{name: "note", help: "why, for the log"},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.code, "blocker", "", "code of the blocker (default: the only one)")
		},
		fill: fillUnblock,
	},
	{
		use: "supersede", short: "Close an item in favour of another", done: "superseded",
		verb: acop.VerbSupersede,
		why:  why{name: "reason", help: "why, for the log"},
		flags: func(fl *pflag.FlagSet, f *actFlags) {
			fl.StringVar(&f.by, "by", "", "id of the work item that takes its place")
		},
		check: checkSupersede, fill: fillSupersede,
	},
	{
		use: "requeue", short: "Put a released item back on the market", done: "requeued",
		verb: acop.VerbRequeue, from: []acop.Status{acop.StatusReleased},
		why: why{name: "note", help: "why, for the log"},
	},
	{
		use: "consume", short: "Mark accepted work as taken up, for good", done: "consumed",
		verb: acop.VerbConsume, from: []acop.Status{acop.StatusAccepted},
		why: why{name: "note", help: "why, for the log"},
	},
}
