package acmp

import (
	"errors"
	"time"
)

const (
	// finishTime is how long the calls that are open when the input ends may still
	// take: a script that writes its requests and closes the pipe gets its answers,
	// and a buyer that leaves does not wait.
	finishTime = time.Second
	// stopTime is how long the last answers may take to be written: the other end may
	// hold the pipe open and not read it.
	stopTime = 500 * time.Millisecond
	// maxOwnAnswers is how many answers of the reader's own may wait to be written.
	maxOwnAnswers = 1024
	// unreadTime is how long they may be that many before the other end is given up.
	unreadTime = 30 * time.Second
)

var (
	errNotRead    = errors.New("serve stdio: the other end does not read its answers")
	errInputEnded = errors.New("the input of the provider ended before the task did")
)

// finish waits until every call is answered, at most for d, and reports whether there
// is nothing left to wait for.
func (s *stdio) finish(d time.Duration) bool {
	s.mu.Lock()
	idle := make(chan struct{})
	if len(s.calls) == 0 {
		close(idle)
	} else {
		s.idle = idle
	}
	s.mu.Unlock()
	end := time.NewTimer(d)
	defer end.Stop()
	select {
	case <-idle:
	case <-s.broken:
	case <-s.ctx.Done():
	case <-end.C:
		return false
	}
	return true
}

// giveUp ends the tasks of the invokes that are not answered.
func (s *stdio) giveUp() {
	s.mu.Lock()
	var tasks []*Task
	for _, c := range s.calls {
		if c.task != nil {
			tasks = append(tasks, c.task)
		}
	}
	s.mu.Unlock()
	for _, t := range tasks {
		t.finish(cancelledError(t.id, errInputEnded.Error()), errClosing)
	}
}
