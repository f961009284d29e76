package acmp

import (
	"encoding/json"
	"errors"
	"time"
)

// State is the life of a task (layer 2 names); it only goes forward.
type State string

// The states of a task. The last three are final.
const (
	StatePending   State = "pending" // not yet sent
	StateRunning   State = "running"
	StateCompleted State = "completed"
	StateFailed    State = "failed"
	StateCancelled State = "cancelled"
)

// Final reports whether nothing can follow s.
func (s State) Final() bool {
	return s == StateCompleted || s == StateFailed || s == StateCancelled
}

// Invocation is what a person or a program asks the buyer to run.
type Invocation struct {
	Provider string // the provider's name in this program
	Params   InvokeParams
	// NoRetry turns off the re-sending of a broken stream.
	NoRetry bool
	// RunTwice allows to send again even where the task may then run a second
	// time: to a provider on stdio that ended and keeps no memory of its tasks.
	RunTwice bool
}

// EventKind names one thing that happened to a task at the buyer. The words are
// those of `signalbox invoke --json`.
type EventKind string

// The kinds of task event. Result and Error are the last of a task.
const (
	EventSent            EventKind = "sent"
	EventChunk           EventKind = "chunk"
	EventHeartbeat       EventKind = "heartbeat"
	EventStalled         EventKind = "stalled"
	EventStreamBroken    EventKind = "stream_broken"
	EventResent          EventKind = "resent"
	EventCancelRequested EventKind = "cancel_requested"
	EventResult          EventKind = "result"
	EventError           EventKind = "error"
)

// TaskEvent is one event of a task at the buyer, in the order it happened.
type TaskEvent struct {
	Kind     EventKind
	TaskID   string
	At       time.Time // the buyer's clock
	Provider string    // name in this program

	// Sent and Resent
	Params            *InvokeParams
	HeartbeatInterval time.Duration // as advertised; 0 = none, no liveness verdict
	Deadline          time.Time     // first send + timeout_ms, never moved
	Attempt           int           // 1 for the first send

	// Chunk
	Seq   int64
	Chunk Payload
	Final bool

	// Heartbeat
	Progress *float64
	Detail   string // also the reason of cancel_requested, the cause of stream_broken

	Result *Result
	Err    *Error

	// Overcharge is set on a result whose cost is above the ceiling, in CU.
	Overcharge json.Number
	// ProofCheck says what our own check of the proof found: "", "matches",
	// "matches (python form)", "does not match" or "cannot be checked".
	ProofCheck string
}

// ErrUnconfirmed is what giving a task input ends with when the provider has not
// confirmed it in time. The input is kept by the buyer and goes out by itself; giving
// it again would double it.
var ErrUnconfirmed = errors.New("the provider has not confirmed it yet; it is kept and sent again")

// Error is the failure of a task: an answer of the provider or, when Local, a
// verdict of the buyer itself.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data,omitempty"`
	Local   bool           `json:"local,omitempty"`
}

// Provider is what the buyer knows of one provider.
type Provider struct {
	Name     string // in this program
	Endpoint string // URL, or stdio:COMMAND; holds no secret
	// Reachable is nil until the first attempt has ended.
	Reachable *bool
	Since     time.Time // of the present reachability
	Problem   string    // why it is not reachable, in plain words
	// Settings is nil where the server has no ACMP extension.
	Settings   *Settings
	ProviderID string // self-reported, for display only
}
