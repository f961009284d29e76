package acmp

import (
	"time"

	"signalbox/model/acmp"
)

// maxTimeoutMS is a year; what is far beyond would overflow.
const maxTimeoutMS = 366 * 24 * 3600 * 1000

func checkTimeout(p *acmp.InvokeParams) error {
	switch {
	case p.TimeoutMS < 0:
		return refuse(acmp.CodeInvalidParams, "the timeout is negative")
	case p.TimeoutMS > maxTimeoutMS:
		return refuse(acmp.CodeInvalidParams, "the timeout is longer than a year")
	}
	return nil
}

// timeoutOf is the time a task has from its first send.
func timeoutOf(p *acmp.InvokeParams) time.Duration {
	var start time.Time
	return acmp.Deadline(start, p.TimeoutMS).Sub(start)
}

// checkInvocation refuses locally what is not well-formed and what the provider
// did not advertise.
func checkInvocation(p *acmp.InvokeParams, set *acmp.Settings) error {
	if e := p.Validate(); e != nil {
		e.Local = true
		if d, ok := e.Data["detail"].(string); ok {
			e.Message = d
		}
		return &Refusal{Err: e}
	}
	if e := set.Refuse(p); e != nil {
		return &Refusal{Err: e}
	}
	return nil
}
