package cli

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"signalbox/model/acmp"
)

// reachWait is the longest wait to find and reach a provider where no --timeout says
// otherwise.
const reachWait = acmp.DefaultTimeoutMS * time.Millisecond

// longestLimit bounds what a provider may say that its command may take.
const longestLimit = 365 * 24 * time.Hour

// suit fits the task to what the provider says of the capability: without --timeout it
// may take what the provider lets it take (the deadline is the buyer's, 3.1, and a
// shorter one would only waste the work), and input for a command that reads none is
// refused instead of dropped.
func (f *invokeFlags) suit(c *acmp.Capability, p *acmp.InvokeParams) error {
	f.limit = min(time.Duration(min(max(c.TimeoutMS, 0), longestLimit.Milliseconds()))*time.Millisecond, longestLimit)
	if p.TimeoutMS == 0 {
		p.TimeoutMS = f.limit.Milliseconds()
	}
	if p.TimeoutMS == 0 {
		p.TimeoutMS = acmp.DefaultTimeoutMS
	}
	if c.Input != "none" {
		return nil
	}
	switch {
	case f.inputStream:
		return failf(exitUsage, "%s takes no input; leave out --input-stream", cell(c.Name))
	case p.Input != nil && f.input != "":
		return failf(exitUsage, "%s takes no input; leave out --input", cell(c.Name))
	}
	return nil
}

// moreTime words what helps against a deadline that was too short, or "".
func (f *invokeFlags) moreTime(ev *acmp.TaskEvent, deadline time.Time) string {
	if ev.Err == nil || ev.Err.Code != acmp.CodeTimeout || ev.At.Add(time.Second).Before(deadline) {
		return "" // it fell silent, or ran into a bound of its provider
	}
	ms := f.timeout.Milliseconds()
	switch {
	case ms == 0 && f.limit > 0:
		return fmt.Sprintf("; %s is the longest that its provider lets it run", f.limit)
	case ms == 0:
		ms = acmp.DefaultTimeoutMS
	}
	return fmt.Sprintf("; the deadline was %s, and --timeout sets a longer one", time.Duration(ms)*time.Millisecond)
}

// readerGone reports that nobody reads the output any more, as behind `| head`.
func readerGone(err error) bool { return errors.Is(err, syscall.EPIPE) }

// errReaderGone ends a command whose output nobody reads any more as a signal would that
// other programs die of: without a word.
func errReaderGone() error { return failf(exitReaderGone, "") }
