package fleet

import (
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// Fact is something that happened outside: an event of the owner, of a task, of
// a link. Only types of this package are facts.
type Fact interface{ fact() }

// OwnerEvent is one event of the owner's log.
type OwnerEvent struct {
	Event acop.Event
	At    time.Time // receipt, this program's clock
}

// SnapshotLoaded replaces everything known from the owner.
type SnapshotLoaded struct {
	Snapshot *acop.Snapshot
	// At is when the owner made it, by this program's clock: the difference to the
	// snapshot's own time is that of the clocks.
	At time.Time
}

// HistoryRead carries events from before the first snapshot, ascending, so that
// the Log does not begin at the moment somebody looked. They change no object:
// the snapshot says how things stand. It must be applied before the snapshot.
type HistoryRead struct{ Events []acop.Event }

// TaskHappened is one event of a task of ours.
type TaskHappened struct {
	Event acmp.TaskEvent
	// Merged is how many older heartbeats of the task this one stands for beside
	// itself, because nobody could be told of them in time.
	Merged int
}

// ProviderSeen is the newest knowledge of one provider.
type ProviderSeen struct {
	Provider acmp.Provider
	At       time.Time
}

// LinkChanged tells how the connection to the owner fares.
type LinkChanged struct {
	Link Link
}

// OwnAct is an act of this program: asked for, then answered. It feeds the Log.
type OwnAct struct {
	At      time.Time
	ID      int // of the request in this program
	Act     acop.Act
	TaskID  string // of a task act
	Verb    string // what was done, for a task act: cancel, invoke, resend, input
	Done    bool
	Err     error // nil: asked for, or done
	Receipt *acop.Receipt
}

func (OwnerEvent) fact()     {}
func (SnapshotLoaded) fact() {}
func (HistoryRead) fact()    {}
func (TaskHappened) fact()   {}
func (ProviderSeen) fact()   {}
func (LinkChanged) fact()    {}
func (OwnAct) fact()         {}

// Noted is a remark of this program for the Log, such as "ask gone".
type Noted struct {
	At   time.Time
	Text string
}

func (Noted) fact() {}

// LinkState says how the connection to the owner fares.
type LinkState string

// The states of the link.
const (
	LinkConnecting LinkState = "connecting"
	LinkLive       LinkState = "live"
	LinkDegraded   LinkState = "degraded" // cut off, trying again
	LinkRefused    LinkState = "refused"  // the owner refuses us; trying again is no use
)

// Link is the connection to the owner as this program sees it.
type Link struct {
	State    LinkState
	Server   string    // base URL
	Since    time.Time // of this state
	LastSeen time.Time // last sign of the owner: "as of"
	Try      int       // number of the present attempt while degraded
	NextTry  time.Time
	Problem  string // in plain words
	// Lost is true when events were missed and a snapshot had to be taken.
	Lost bool
}

// Task is one ACMP invocation of ours as the events told it.
type Task struct {
	ID         string
	Provider   string
	ProviderID string // self-reported, once a result named it
	Params     acmp.InvokeParams
	State      acmp.State

	// Earlier tells that the task ended before this program began, whoever ran it: what
	// is not in [acmp.Outcome] is not known, when it was sent among it.
	Earlier bool
	By      string // of an earlier one: the program and process that ran it, if known

	SentAt   time.Time // of the first send
	EndedAt  time.Time
	Deadline time.Time
	Interval time.Duration // heartbeat interval; 0 = not advertised
	// LastSign is the last chunk, heartbeat or send; LastBeat the last heartbeat.
	LastSign time.Time
	LastBeat time.Time
	// LastProgress is when progress, detail or output last said something new.
	LastProgress time.Time
	// Stalled is set while the buyer tells of silence: from two intervals on. Dead
	// is judged by [acmp.Liveness] alone, from three.
	Stalled  bool
	Broken   bool // the stream is broken and not yet sent again
	Attempt  int
	Progress *float64
	Detail   string

	CancelRequestedAt time.Time
	CancelReason      string

	Output Output
	Chunks int64
	Bytes  int64
	// Merged counts the heartbeats that another one stood for: this program was
	// too slow to look at each.
	Merged int
	// Restarted counts how often output was discarded because of a re-send.
	Restarted int
	// Revision counts the changes of the task's situation: state, stall, break,
	// cancel. Output, progress and signs of life do not count.
	Revision uint64

	Result     *acmp.Result
	Err        *acmp.Error
	Overcharge string // CU above the ceiling; "" = none
	ProofCheck string

	nextSeq int64 // the chunk that is due
	done    bool  // the final chunk was seen
}

// LogLine is one line of the Log: an event of the owner or an act of our own.
type LogLine struct {
	At    time.Time
	Event *acop.Event // of the owner
	Own   *OwnAct     // of this program
	Note  string      // of this program, without an act: "degraded", "ask gone"
}

// State is the read model. Fields are read by the screens and written by Apply
// alone.
type State struct {
	Identity string
	Role     acop.Role
	Revision uint64 // of the owner's log, as far as applied

	Items    map[string]*acop.Item // by id; closed ones stay while they were seen
	Closed   map[acop.Status]int   // how many the snapshot counted
	Entries  []acop.Posted         // ascending revision, bounded
	Settings acop.Settings

	Tasks     map[string]*Task
	TaskOrder []string // by first send; those of earlier runs in front, by their end

	Providers     map[string]acmp.Provider
	ProviderOrder []string

	Link Link
	// Skew is the owner's clock minus this program's, as of the last snapshot.
	Skew    time.Duration
	Log     []LogLine // ascending, bounded
	LogBase int       // number of lines dropped in front of Log
	// LogEdits counts the lines of Log that were changed in their places: an own act
	// was answered.
	LogEdits int

	// Changed is when an object last changed, for the 1.5 s of brightness; keys
	// are work item and task ids. Old instants are dropped.
	Changed map[string]time.Time

	// Version counts the facts that changed anything; ItemsVersion, EntriesVersion
	// and TasksVersion those that touched items, entries or tasks; PlacesVersion counts
	// the items that came, went or changed their repository or branch. A screen may keep
	// what it derived for as long as the number stays.
	Version        uint64
	ItemsVersion   uint64
	PlacesVersion  uint64
	EntriesVersion uint64
	TasksVersion   uint64

	ix index
}
