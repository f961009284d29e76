package acop

import (
	"fmt"

	"signalbox/model/acop"
)

// The sets of states and kinds are closed within 1.x. A value outside them is a
// fault of the other side; it is reported, never guessed at (C-086).

func checkStatus(s acop.Status) error {
	if s == "" || s.Valid() {
		return nil
	}
	return fmt.Errorf("unknown work item status %q", clip(string(s)))
}

func checkClaim(c *acop.Claim) error {
	if c == nil || c.ClaimStatus == "" || c.ClaimStatus.Valid() {
		return nil
	}
	return fmt.Errorf("unknown claim status %q", clip(string(c.ClaimStatus)))
}

func checkEntry(e *acop.BlackboardEntry) error {
	if e == nil || e.EntryKind.Valid() {
		return nil
	}
	return fmt.Errorf("unknown entry kind %q", clip(string(e.EntryKind)))
}

func checkItem(i *acop.Item) error {
	if i == nil {
		return nil
	}
	if !i.Status().Valid() {
		return fmt.Errorf("work item %q has the unknown status %q", clip(i.ID()), clip(string(i.Status())))
	}
	if !i.WorkItem.WorkKind.Valid() {
		return fmt.Errorf("work item %q has the unknown kind %q", clip(i.ID()), clip(string(i.WorkItem.WorkKind)))
	}
	if i.Lease != nil {
		return checkClaim(&i.Lease.Claim)
	}
	return nil
}

func checkSnapshot(s *acop.Snapshot) error {
	for _, i := range s.Items {
		if i == nil {
			return fmt.Errorf("an item is null")
		}
		if err := checkItem(i); err != nil {
			return err
		}
	}
	for i := range s.Entries {
		if err := checkEntry(&s.Entries[i].Entry); err != nil {
			return err
		}
	}
	return nil
}

func checkEvent(e *acop.Event) error {
	if err := checkItem(e.Item); err != nil {
		return err
	}
	if err := checkClaim(e.Claim); err != nil {
		return err
	}
	if err := checkEntry(e.Entry); err != nil {
		return err
	}
	if err := checkStatus(e.From); err != nil {
		return err
	}
	return checkStatus(e.To)
}

// clip bounds foreign text in a message, in bytes.
func clip(s string) string {
	const n = 80
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
