package acmp

import (
	"encoding/json"
	"time"
)

// Outcome is what a buyer keeps of a task that has ended, beside its output.
type Outcome struct {
	TaskID     string
	Provider   string // name in this program
	Capability string
	At         time.Time // of the end, the buyer's clock

	// Err is nil where the task had a result.
	Err        *Error
	CeilingCU  *json.Number // CU, decimal; nil: there was none
	CostCU     json.Number  // CU, as reported; "" where the task had no result
	Overcharge json.Number  // CU above the ceiling; "" for none
	Tokens     int64        // as reported
	ProofCheck string       // as in [TaskEvent]
	// By names the program and process that ran the task; "" is not known.
	By string
	// Told tells that whoever ran it, as from a shell, was shown how it ended.
	Told bool
	// Seen tells that a person took note of how the task ended.
	Seen bool
}

// State is the state in which the task ended.
func (o *Outcome) State() State {
	switch {
	case o.Err == nil:
		return StateCompleted
	case o.Err.Code == CodeCancelled:
		return StateCancelled
	}
	return StateFailed
}
