package acmp

// Next decides what a task's state becomes when an event of kind k happens to
// it, and whether the event may happen in that state at all (A.18). Nothing
// follows a final state, and a state never goes back. An error leads to failed
// here; [After] tells cancelled and overcharged outcomes apart.
//
//	pending ─sent→ running ─result→ completed
//	   └──────error──┴───────error→ failed, cancelled
func Next(s State, k EventKind) (State, bool) {
	switch s {
	case StatePending:
		switch k {
		case EventSent, EventResent: // resent first: taken up again after a restart
			return StateRunning, true
		case EventError:
			return StateFailed, true
		case EventCancelRequested:
			return StatePending, true
		}
	case StateRunning:
		switch k {
		case EventChunk, EventHeartbeat, EventStalled, EventStreamBroken, EventResent, EventCancelRequested:
			return StateRunning, true
		case EventResult:
			return StateCompleted, true
		case EventError:
			return StateFailed, true
		}
	}
	return s, false
}

// After is [Next] with the whole event at hand: an error that says cancelled
// leads to cancelled, a result that costs more than the ceiling to failed
// it is not shown as a success).
func After(s State, ev *TaskEvent) (State, bool) {
	next, ok := Next(s, ev.Kind)
	if !ok {
		return s, false
	}
	switch {
	case ev.Kind == EventError && ev.Err != nil && ev.Err.Code == CodeCancelled:
		return StateCancelled, true
	case ev.Kind == EventResult && ev.Overcharge != "":
		return StateFailed, true
	}
	return next, true
}

// States lists the five states of a task.
func States() []State {
	return []State{StatePending, StateRunning, StateCompleted, StateFailed, StateCancelled}
}

// EventKinds lists the nine kinds of task event.
func EventKinds() []EventKind {
	return []EventKind{
		EventSent, EventChunk, EventHeartbeat, EventStalled, EventStreamBroken, EventResent,
		EventCancelRequested, EventResult, EventError,
	}
}

// Final reports whether k ends a task.
func (k EventKind) Final() bool { return k == EventResult || k == EventError }
