package screen

// Kind says what a target is.
type Kind string

// The kinds of target.
const (
	KindNone     Kind = ""
	KindItem     Kind = "item"     // ID is the work item id
	KindClaim    Kind = "claim"    // ID is the claim id, WorkItemID its item
	KindIntent   Kind = "intent"   // ID is the claim intent id, WorkItemID its item
	KindTask     Kind = "task"     // ID is the task id
	KindEntry    Kind = "entry"    // ID is the entry id, WorkItemID its item
	KindAgent    Kind = "agent"    // ID is the identity; ClaimID its live claim, if any
	KindProvider Kind = "provider" // ID is the provider's name
	KindEvent    Kind = "event"    // ID is the revision or line; WorkItemID or TaskID what it is about
)

// Target is the row an act is about, as it was on screen. An act carries it
// unchanged, so that what a person decided on is what the owner is asked for.
type Target struct {
	Kind Kind
	ID   string
	// WorkItemID is the item the row is about; equal to ID for an item.
	WorkItemID string
	ClaimID    string
	TaskID     string
	// Worker is the identity that asks or holds, where the row shows one.
	Worker string
	// AskKey is the identity of the ask the row shows, in the queue.
	AskKey string
	// Revision is the revision of the item that was on screen; 0 = not of an item.
	Revision uint64
}

// Key identifies the target over time, whatever its revision.
func (t Target) Key() string {
	if t.Kind == KindNone {
		return ""
	}
	return string(t.Kind) + " " + t.ID
}

// IsZero reports whether nothing is selected.
func (t Target) IsZero() bool { return t.Kind == KindNone }

// Item is the target that stands for a whole work item.
func Item(id string, revision uint64) Target {
	return Target{Kind: KindItem, ID: id, WorkItemID: id, Revision: revision}
}

// Task is the target of a task of ours.
func Task(id string) Target { return Target{Kind: KindTask, ID: id, TaskID: id} }
