package acmp

import (
	"fmt"
	"strings"

	"signalbox/model/acmp"
)

// leftTask is an unfinished task of an earlier run that is not taken up.
type leftTask struct{ taskID, why string }

// reattach takes up the tasks that an earlier run left unfinished, by sending
// the same invoke again. Those of providers that are not configured here, or
// that have moved, stay for a run that knows them as they were; they are told
// from a goroutine of their own, for whoever hears it may not listen yet.
func (b *Buyer) reattach() {
	var left []leftTask
	take := func(f *taskFile) {
		why := cannotTakeUp(b.links[f.rec.Provider], &f.rec)
		if why == "" {
			why = b.takeUp(f)
		}
		if why != "" {
			left = append(left, leftTask{f.rec.Params.TaskID, why})
			f.close()
		}
	}
	b.disk.unfinished(take, func(file string, err error) {
		b.env.Log.Warn("an unfinished task is left alone", "file", file, "cause", err)
	})
	b.runners.Go(func() {
		for _, l := range left {
			if b.env.ctx.Err() != nil {
				return
			}
			b.env.left(l)
		}
	})
}

// takeUp starts the task of f, or says why it cannot.
func (b *Buyer) takeUp(f *taskFile) (why string) {
	rec := &f.rec
	t := newTask(b, b.links[rec.Provider], acmp.Invocation{Provider: rec.Provider, Params: rec.Params, NoRetry: rec.NoRetry, RunTwice: rec.RunTwice})
	t.file, t.first, t.reattach = f, rec.FirstSend, true
	if t.in != nil {
		if err := t.in.restore(); err != nil {
			return "its input cannot be gone on with: " + err.Error()
		}
	}
	if rec.IsCancel {
		t.cancelC <- strings.TrimSpace(rec.Cancelled)
	}
	b.mu.Lock()
	b.tasks[t.id] = t
	b.mu.Unlock()
	b.start(t)
	return ""
}

// cannotTakeUp says why the task of rec is left alone, or "".
func cannotTakeUp(l *link, rec *record) string {
	switch {
	case l == nil:
		return fmt.Sprintf("provider %s is not known in this run", rec.Provider)
	case rec.Endpoint != l.spec.Endpoint():
		return fmt.Sprintf("provider %s is now at %s; the task was sent to %s", rec.Provider, l.spec.Endpoint(), rec.Endpoint)
	}
	return ""
}

// left tells of an unfinished task that is not taken up.
func (e *env) left(l leftTask) {
	e.Log.Warn("an unfinished task is left alone", "task", l.taskID, "cause", l.why)
	if e.Left != nil {
		e.Left(l.taskID, l.why)
	}
}
