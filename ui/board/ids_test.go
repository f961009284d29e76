package board

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/uitest"
)

// Three items of one title can be told apart in the narrow list.
func TestListShowsIDs(t *testing.T) {
	var items []*acop.Item
	for _, end := range []string{"alpha", "beta", "gamma"} {
		items = append(items, worlds.Item("work:ledger:"+end, func(i *acop.Item) { i.WorkItem.Title = "Round half to even in the ledger" }))
	}
	st := fleet.New()
	st.Apply(uitest.Live(worlds.Now))
	st.Apply(fleet.SnapshotLoaded{At: worlds.Now, Snapshot: &acop.Snapshot{Revision: 1, Role: acop.RoleLead, Items: items}})
	for _, w := range []int{78, 100, 118} {
		s := New()
		view := ansi.Strip(s.View(worlds.Ctx(st, w, 20)))
		for _, end := range []string{"alpha", "beta", "gamma"} {
			if !strings.Contains(view, end) {
				t.Errorf("%d: %s is not there:\n%s", w, end, view)
			}
		}
	}
}
