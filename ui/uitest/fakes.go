package uitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// FakeOwner is an owner that records what it was asked for and answers as told.
type FakeOwner struct {
	mu   sync.Mutex
	acts []acop.Act
	// Answer decides every act; nil does everything at revision 1.
	Answer func(acop.Act) (*acop.Receipt, error)
	// Hold, when not nil, keeps every act waiting until it is closed or the
	// act's context ends.
	Hold chan struct{}
	// Details answers Detail by item id.
	Details map[string]*acop.Detail
}

// Do implements the owner's port.
func (f *FakeOwner) Do(ctx context.Context, act acop.Act) (*acop.Receipt, error) {
	f.mu.Lock()
	f.acts = append(f.acts, act)
	hold, answer := f.Hold, f.Answer
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if answer == nil {
		return &acop.Receipt{Revision: 1}, nil
	}
	return answer(act)
}

// Detail implements the owner's port.
func (f *FakeOwner) Detail(_ context.Context, id string) (*acop.Detail, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.Details[id]; d != nil {
		return d, nil
	}
	return nil, acop.Errorf(acop.CodeItemNotFound, "no item %q", id)
}

// Acts are the acts asked for so far.
func (f *FakeOwner) Acts() []acop.Act {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]acop.Act(nil), f.acts...)
}

// FakeBuyer is a buyer that records what it was asked for.
type FakeBuyer struct {
	mu    sync.Mutex
	calls []string
	invs  []acmp.Invocation
	fed   strings.Builder
	// Err, when not nil, refuses every call.
	Err error
	// Output answers Transcript.
	Output []byte
}

func (f *FakeBuyer) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.Err
}

// Invoke implements the buyer's port.
func (f *FakeBuyer) Invoke(_ context.Context, inv acmp.Invocation) (string, error) {
	err := f.note("invoke %s %s", inv.Provider, inv.Params.Capability)
	f.mu.Lock()
	f.invs = append(f.invs, inv)
	n := len(f.invs)
	f.mu.Unlock()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("task_%d", n), nil
}

// Cancel implements the buyer's port.
func (f *FakeBuyer) Cancel(_ context.Context, taskID, reason string) error {
	return f.note("cancel %s %s", taskID, reason)
}

// Resend implements the buyer's port.
func (f *FakeBuyer) Resend(_ context.Context, taskID string) error {
	return f.note("resend %s", taskID)
}

// Input implements the buyer's port.
func (f *FakeBuyer) Input(_ context.Context, taskID string, chunk acmp.Payload, final bool) error {
	var s string
	if json.Unmarshal(chunk.Data, &s) == nil {
		f.mu.Lock()
		f.fed.WriteString(s)
		f.mu.Unlock()
	}
	return f.note("input %s %s %v", taskID, chunk.Data, final)
}

// Seen implements the buyer's port.
func (f *FakeBuyer) Seen(_ context.Context, taskID string) error { return f.note("seen %s", taskID) }

// Transcript implements the buyer's port.
func (f *FakeBuyer) Transcript(_ context.Context, taskID string) (io.ReadCloser, error) {
	if err := f.note("transcript %s", taskID); err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(f.Output)), nil
}

// Fed is all text that was sent as streamed input.
func (f *FakeBuyer) Fed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fed.String()
}

// Calls are the calls so far, one line each.
func (f *FakeBuyer) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.calls...)
}

// Invocations are what Invoke was asked for.
func (f *FakeBuyer) Invocations() []acmp.Invocation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]acmp.Invocation(nil), f.invs...)
}
