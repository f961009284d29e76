package cli

import (
	"testing"

	"signalbox/model/acop"
)

// What became of an item is told of the item: where the answer is about its
// successor, it says so and names it.
func TestOutcomeNamesTheSuccessor(t *testing.T) {
	t.Parallel()
	item := func(id string) *acop.Item {
		return &acop.Item{WorkItem: acop.WorkItem{WorkItemID: id, Status: acop.StatusReady}}
	}
	for _, c := range []struct {
		r    acop.Receipt
		want string
	}{
		{acop.Receipt{Status: acop.StatusReady, Item: item("work:new")}, ": it goes on as work:new, ready"},
		{acop.Receipt{Status: acop.StatusReady, Item: item("work:old")}, ": ready"},
		{acop.Receipt{Status: acop.StatusAccepted, Released: []string{"work:next"}}, ": accepted, now ready: work:next"},
		{acop.Receipt{}, ""},
	} {
		if got := outcome("work:old", &c.r); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
