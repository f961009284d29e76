package cli

import (
	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// What facts weigh beside their long texts, in bytes: the values themselves, and
// the objects of the owner, whose many short texts are not counted one by one.
const (
	factWeight = 512
	itemWeight = 4 << 10
)

// weigh is about how much memory f holds, in bytes.
func weigh(f fleet.Fact) int {
	n := factWeight
	switch f := f.(type) {
	case fleet.TaskHappened:
		n += weighTask(&f.Event)
	case fleet.OwnerEvent:
		n += weighEvent(&f.Event)
	case fleet.HistoryRead:
		for i := range f.Events {
			n += factWeight + weighEvent(&f.Events[i])
		}
	case fleet.SnapshotLoaded:
		for _, it := range f.Snapshot.Items {
			n += weighItem(it)
		}
		for i := range f.Snapshot.Entries {
			n += weighEntry(&f.Snapshot.Entries[i].Entry)
		}
	}
	return n
}

func weighTask(ev *acmp.TaskEvent) int {
	n := len(ev.Chunk.Data) + len(ev.Detail)
	if ev.Params != nil && ev.Params.Input != nil {
		n += len(ev.Params.Input.Data)
	}
	if ev.Result != nil && ev.Result.Output != nil {
		n += len(ev.Result.Output.Data)
	}
	return n
}

func weighEvent(ev *acop.Event) int {
	n := len(ev.Reason)
	if ev.Item != nil {
		n += weighItem(ev.Item)
	}
	if ev.Entry != nil {
		n += weighEntry(ev.Entry)
	}
	return n
}

func weighItem(it *acop.Item) int {
	n := itemWeight + len(it.WorkItem.Title) + len(it.WorkItem.Summary)
	for i := range it.Blockers {
		n += factWeight + len(it.Blockers[i].Summary) + len(it.Blockers[i].SuggestedResolution)
	}
	for i := range it.Operations {
		n += factWeight + len(it.Operations[i].Description)
	}
	return n + factWeight*(len(it.Artifacts)+len(it.ValidationRequirements)+len(it.Intents))
}

func weighEntry(e *acop.BlackboardEntry) int {
	return factWeight + len(e.Summary) + len(e.Details)
}
