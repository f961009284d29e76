package ui

import (
	"context"
	"io"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// Owner is what the dashboard needs of the coordination owner. It is called
// from commands, never from Update or View; every call may block on the network
// and returns when ctx ends.
type Owner interface {
	// Do asks the owner to carry out act. A refusal is an *acop.Error.
	Do(ctx context.Context, act acop.Act) (*acop.Receipt, error)
	// Detail reads everything about one item.
	Detail(ctx context.Context, workItemID string) (*acop.Detail, error)
}

// Buyer is what the dashboard needs to run tasks. What happens to a task comes
// back as facts through the pump, not through these calls.
type Buyer interface {
	// Invoke starts a task and returns its id once the invocation was accepted
	// for sending. A refusal before sending is an *acmp.Error with Local set.
	Invoke(ctx context.Context, inv acmp.Invocation) (taskID string, err error)
	// Cancel asks the provider to stop the task. It returns at once.
	Cancel(ctx context.Context, taskID, reason string) error
	// Resend sends the same invoke again with the same task_id.
	Resend(ctx context.Context, taskID string) error
	// Input sends one chunk of streamed input; final ends the input.
	Input(ctx context.Context, taskID string, chunk acmp.Payload, final bool) error
	// Seen keeps that a person took note of how the task ended.
	Seen(ctx context.Context, taskID string) error
	// Transcript opens the whole output of the task from disk.
	Transcript(ctx context.Context, taskID string) (io.ReadCloser, error)
}

// LeaveMsg ends the dashboard without a question, behind a blank frame, as a signal
// asks for.
type LeaveMsg struct{}

// FactsMsg carries what happened since the last one: the pump sends at most one
// about every 33 ms.
type FactsMsg struct{ Facts []fleet.Fact }
