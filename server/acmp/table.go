package acmp

import (
	"container/list"
	"sync"
	"time"

	"signalbox/model/acmp"
)

// table holds every task the provider has seen, running or over, and what came
// before its invoke. One task_id is one entry, whoever asks: another principal is
// turned away (D-11).
type table struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	tasks   map[string]*entry
	running int
	held    *list.List // *entry with an outcome, oldest end first
	bytes   int        // output of finished tasks
	gone    *list.List // *entry whose outcome is no longer held
	early   map[string]*early
	closed  bool
}

// entry is a task in the table. task is nil once only its id is remembered.
type entry struct {
	id        string
	principal string
	task      *Task
	size      int
	at        time.Time // of the end
	place     *list.Element
}

// early is what came from one principal before the invoke it belongs to (D-14).
type early struct {
	chunks  []earlyChunk
	bytes   int
	cancels map[string]earlyCancel
}

type earlyChunk struct {
	at    time.Time
	chunk acmp.InputChunk
}

type earlyCancel struct {
	at     time.Time
	reason string
}

func newTable(l Limits) *table {
	return &table{limits: l, now: time.Now, tasks: map[string]*entry{},
		held: list.New(), gone: list.New(), early: map[string]*early{}}
}

// find gives the entry of id, nil where it has never been seen.
func (tb *table) find(id string) *entry {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.tasks[id]
}

// admitted is what add found.
type admitted struct {
	entry  *entry // the one in the table: ours, or that of an earlier invoke
	fresh  bool   // it is ours
	cancel *earlyCancel
	chunks []acmp.InputChunk
	busy   bool // no room for another running task
	closed bool
}

// add enters a new task unless its id has been seen, and hands over what came
// early for it.
func (tb *table) add(t *Task) admitted {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e, seen := tb.tasks[t.id]; seen {
		return admitted{entry: e}
	}
	if tb.closed {
		return admitted{closed: true}
	}
	if tb.running >= tb.limits.RunningTasks {
		return admitted{busy: true}
	}
	e := &entry{id: t.id, principal: t.principal, task: t}
	tb.tasks[t.id] = e
	tb.running++
	a := admitted{entry: e, fresh: true}
	if ea := tb.early[t.principal]; ea != nil {
		tb.pruneEarly(t.principal, ea)
		if c, ok := ea.cancels[t.id]; ok {
			a.cancel = &c
			delete(ea.cancels, t.id)
		}
		keep := ea.chunks[:0]
		for _, c := range ea.chunks {
			if c.chunk.TaskID == t.id {
				a.chunks = append(a.chunks, c.chunk)
				ea.bytes -= sizeOf(&c.chunk.Chunk)
				continue
			}
			keep = append(keep, c)
		}
		ea.chunks = keep
		tb.dropEmpty(t.principal, ea)
	}
	return a
}

// taskOverhead is what one held outcome costs besides its data, in bytes.
const taskOverhead = 2 << 10

// ended moves a task to the outcomes held, and lets go of old ones (D-12).
func (tb *table) ended(t *Task) {
	t.mu.Lock()
	size, at := t.bytes+taskOverhead, t.endedAt
	if t.params.Input != nil {
		size += len(t.params.Input.Data)
	}
	t.mu.Unlock()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.tasks[t.id]
	if e == nil || e.task != t || e.place != nil {
		return
	}
	tb.running--
	e.size, e.at = size, at
	e.place = tb.held.PushBack(e)
	tb.bytes += size
	tb.evict()
}

func (tb *table) evict() {
	for tb.held.Len() > 0 {
		e := tb.held.Front().Value.(*entry)
		old := tb.now().Sub(e.at) > tb.limits.OutcomeAge
		if !old && tb.bytes <= tb.limits.TotalBytes && tb.held.Len() <= tb.limits.Outcomes {
			break
		}
		tb.held.Remove(e.place)
		tb.bytes -= e.size
		e.task = nil
		e.place = tb.gone.PushBack(e)
	}
	for tb.gone.Len() > tb.limits.Tombstones {
		e := tb.gone.Remove(tb.gone.Front()).(*entry)
		delete(tb.tasks, e.id)
	}
}

// cancel asks a task to stop, or remembers the wish until its invoke comes.
// It gives the task to cancel, nil where there is none.
func (tb *table) cancel(principal string, c acmp.Cancel) *Task {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e, seen := tb.tasks[c.TaskID]; seen {
		if e.principal != principal {
			return nil
		}
		return e.task
	}
	ea := tb.earlyOf(principal)
	if len(ea.cancels) < tb.limits.EarlyCancels {
		ea.cancels[c.TaskID] = earlyCancel{at: tb.now(), reason: c.Reason}
	}
	return nil
}

// chunk gives the task that a chunk belongs to, or holds the chunk until its
// invoke comes.
func (tb *table) chunk(principal string, c acmp.InputChunk) *Task {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e, seen := tb.tasks[c.TaskID]; seen {
		if e.principal != principal {
			return nil
		}
		return e.task
	}
	ea := tb.earlyOf(principal)
	n := sizeOf(&c.Chunk)
	if len(ea.chunks) < tb.limits.EarlyChunks && ea.bytes+n <= tb.limits.EarlyBytes {
		ea.chunks = append(ea.chunks, earlyChunk{at: tb.now(), chunk: c})
		ea.bytes += n
	}
	return nil
}

func (tb *table) earlyOf(principal string) *early {
	for p, ea := range tb.early { // the table of principals stays small, too
		tb.pruneEarly(p, ea)
		if p != principal {
			tb.dropEmpty(p, ea)
		}
	}
	ea := tb.early[principal]
	if ea == nil {
		ea = &early{cancels: map[string]earlyCancel{}}
		tb.early[principal] = ea
	}
	return ea
}

func (tb *table) pruneEarly(principal string, ea *early) {
	oldest := tb.now().Add(-tb.limits.EarlyAge)
	n := 0
	for n < len(ea.chunks) && ea.chunks[n].at.Before(oldest) {
		ea.bytes -= sizeOf(&ea.chunks[n].chunk.Chunk)
		n++
	}
	ea.chunks = ea.chunks[n:]
	for id, c := range ea.cancels {
		if c.at.Before(oldest) {
			delete(ea.cancels, id)
		}
	}
}

func (tb *table) dropEmpty(principal string, ea *early) {
	if len(ea.chunks) == 0 && len(ea.cancels) == 0 {
		delete(tb.early, principal)
	}
}

// close refuses further tasks and gives those that run.
func (tb *table) close() []*Task {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.closed = true
	var ts []*Task
	for _, e := range tb.tasks {
		if e.task != nil {
			ts = append(ts, e.task)
		}
	}
	return ts
}

// taskOf gives the task of an entry, nil once only its id is remembered.
func (tb *table) taskOf(e *entry) *Task {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return e.task
}
