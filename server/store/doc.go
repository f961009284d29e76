// Package store keeps the owner's truth: one log of records on an embedded NATS
// JetStream stream, and the in-memory projection that follows it.
//
// The position of a record in the log is the revision. A write names the
// revision its decision was based on; the log refuses it when somebody else was
// first, and that check is the mutual exclusion of the whole owner.
//
//	Commit -> message -> engine -> follower -> projection -> hub -> Subscription
//	 (seal, expected    (answers: (fsync)       (reads)     (ring)   (Next)
//	  last revision)     its place)
//
// The package knows records and their conditions. It does not know which change
// is allowed, who may ask for it, HTTP, or what a lease means.
//
// # Integrity
//
// Every message carries a checksum over all of it and the revision and checksum
// of an earlier one ([link]). Nothing is ever removed. So at start the log must
// be one unbroken run of revisions with fitting checksums that reaches the
// revision noted beside it; otherwise [Open] returns a [DamageError] and serves
// nothing. The engine repairs what it finds by cutting it off, so the check reads
// the engine's block files itself, before the engine is started: a folder that is
// refused stays as it was, byte for byte. An act of several records that was cut
// short by the death of the process was never acknowledged; it is left out for
// good.
//
// # Durability
//
// A record is applied, told and acknowledged after a sync that began when it was
// in its file ([durable]); writers at the same time share a sync. The log is
// written by this process alone, so the follower does not read an act back: what
// it applies was decoded from the bytes that were sent, and the engine's answer
// names their place. An act whose answer was lost is read from the log. When the disk
// takes no more, writes are refused with [ErrUnavailable] and reads go on; the
// engine is started anew once there is space. What a failed sync left in doubt is
// written to new files first, because a second sync of the same file would prove
// nothing.
//
// # Compaction
//
// [Compact] writes a new generation of the log: the older state, packed in front
// of the younger history, which keeps its revisions ([generation]). One rename
// swaps it in. A start clears away what a compaction that was killed left behind.
//
// # Concurrency
//
// All methods of [Store] may be called from any goroutine. Commit, CommitAll,
// WaitRevision, History, Subscribe and Next may block; the other reads hold a
// read lock for as long as they look. One goroutine, the [follower], changes the
// projection. It waits for the disk and for no reader:
// subscribers read from a ring of the newest acts, and who falls out of it is told so.
//
// # Testing
//
// The engine starts in milliseconds, so tests open a real log in a temporary
// folder. Damage is tested by damaging files, the loss of the process by kill
// -9 of a child that runs this package's test binary, a full disk by a limit on
// the size of files and by a small file system. docs/benchmarks.md tells how to
// measure.
package store
