package ui_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// rig is a dashboard on an emulated terminal in front of fakes.
type rig struct {
	*uitest.Term
	t     *testing.T
	m     *ui.Model
	owner *uitest.FakeOwner
	buyer *uitest.FakeBuyer
	start time.Time
	rev   uint64 // events of the owner told so far
}

// open starts a dashboard in a bubble with the fake world in it.
func open(t *testing.T, o ui.Options, to uitest.Options) *rig {
	t.Helper()
	r := &rig{t: t, owner: &uitest.FakeOwner{}, buyer: &uitest.FakeBuyer{}, start: time.Now()}
	if o.Owner == nil {
		o.Owner = r.owner
	}
	if o.Buyer == nil {
		o.Buyer = r.buyer
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r.m = ui.New(ctx, o)
	r.Term = uitest.Start(t, r.m, to)
	return r
}

// world opens a dashboard that knows the fake world.
func world(t *testing.T, o ui.Options, to uitest.Options) *rig {
	r := open(t, o, to)
	r.facts(uitest.Facts(time.Now())...)
	return r
}

func (r *rig) facts(fs ...fleet.Fact) { r.Send(ui.FactsMsg{Facts: fs}) }

// bubble runs f on a fake clock.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// TestDump prints canonical screens when SIGNALBOX_DUMP is set, for looking.
func TestDump(t *testing.T) {
	if os.Getenv("SIGNALBOX_DUMP") == "" {
		t.Skip("set SIGNALBOX_DUMP to print the screens")
	}
	for _, size := range [][2]int{{80, 24}, {60, 16}, {120, 40}, {240, 70}} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{CarriesOwner: true}, uitest.Options{W: size[0], H: size[1]})
			fmt.Println(r.Screen())
			for _, k := range []string{"2", "3", "4", "5", "6", "1"} {
				r.Keys(k)
				fmt.Println(r.Screen())
			}
			for _, keys := range [][]string{{"g"}, {"j", "j", "x"}, {"?"}, {":"}, {"enter"}} {
				r.Keys(keys...)
				fmt.Println(r.Screen())
				r.Keys("esc")
			}
		})
	}
}

// line is the last line of the screen that holds s: of what lies over another, the
// one on top.
func (r *rig) line(s string) string {
	r.t.Helper()
	out := ""
	for _, l := range strings.Split(r.Screen(), "\n") {
		if strings.Contains(l, s) {
			out = l
		}
	}
	return out
}
