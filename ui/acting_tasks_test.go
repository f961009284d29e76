package ui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/ui"
	"signalbox/ui/uitest"
)

// Promise 6: cancel of a task shows requested until the provider answers.
func TestCancelTask(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("tab", "x")
		r.Must("Cancel task_a7", "sentiment", "what it has sent stays readable")
		r.Type("too slow")
		r.Keys("enter", "y")
		if d := cmp.Diff([]string{"cancel task_a7c9d1e2f3 too slow"}, r.buyer.Calls()); d != "" {
			t.Fatal(d)
		}
	})
}

func TestInvoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("i")
		r.Must("Invoke", "run-tests", ".003 CU")
		r.Keys("down", "enter")
		r.Type("--oneline")
		r.Keys("enter")
		invs := r.buyer.Invocations()
		if len(invs) != 1 || invs[0].Provider != "local" || invs[0].Params.Capability != "git-log" || !invs[0].Params.Stream ||
			string(invs[0].Params.Input.Data) != `"--oneline"` || invs[0].Params.TimeoutMS != 600_000 {
			t.Fatalf("%+v\n%s", invs, r.Screen())
		}
		// What nobody advertises stays readable and is taken as written.
		r.Keys("i")
		r.Type("zzz-new")
		r.Must("zzz-new", "nothing fits; enter takes it as written")
		r.Keys("enter")
		r.Must("provider", "zzz-new")
		r.Keys("enter", "enter")
		if invs = r.buyer.Invocations(); len(invs) != 2 || invs[1].Provider != "local" || invs[1].Params.Capability != "zzz-new" {
			t.Fatalf("%+v\n%s", invs, r.Screen())
		}
		r.Keys("i")
		r.Must("other", "zzz-new") // remembered
		r.Keys("esc", "i")
		r.Type("git")
		r.Keys("enter", "enter")
		r.Wait(time.Second)
		// A refusal before sending is explained.
		r.buyer.Err = errors.New("the provider is not reachable")
		r.Keys("i", "enter", "enter")
		r.Must("invoke git-log on local refused: the provider is not reachable")
	})
}

// A task has as long as its capability may run; where the provider tells no limit
// the form says which one it takes.
func TestInvokeTakesTheCapabilitysLimit(t *testing.T) {
	for _, c := range []struct {
		limit int64
		keys  []string
		shown string
		want  int64
	}{
		{7_200_000, nil, "2h00, as its provider limits it", 7_200_000},
		{0, nil, "10m00; its provider tells no limit", 600_000},
		{7_200_000, []string{"3", "0", "s"}, "30s", 30_000},
	} {
		bubble(t, func(t *testing.T) {
			r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
			p := uitest.Provider("local", time.Now())
			p.Provider.Settings.Features.Capabilities[0].TimeoutMS = c.limit
			r.facts(p)
			r.Keys("i")
			for n := 0; c.keys != nil && !strings.Contains(r.line("timeout"), "▌"); n++ {
				if n == 12 {
					t.Fatalf("tab does not come to the timeout\n%s", r.Screen())
				}
				r.Keys("tab")
			}
			r.Keys(c.keys...)
			r.Must(c.shown)
			r.Keys("ctrl+s")
			invs := r.buyer.Invocations()
			if len(invs) != 1 || invs[0].Params.TimeoutMS != c.want {
				t.Errorf("%+v\n%s", invs, r.Screen())
			}
		})
	}
}

// Input and terms belong to the capability they were given for: another one begins
// with its own, and what is typed in the form stays in it.
func TestInvokeRemembersForEachCapability(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		p := uitest.Provider("local", time.Now())
		p.Provider.Settings.Features.InputStreaming = true
		r.facts(p)
		to := func(label string) {
			t.Helper()
			for range 14 {
				if strings.Contains(r.line(label), "▌"+label) {
					return
				}
				r.Keys("tab")
			}
			t.Fatalf("tab does not come to %q\n%s", label, r.Screen())
		}
		r.Keys("i")
		to("input        ")
		r.Type("for the tests")
		to("more input")
		r.Keys("right")
		to("timeout")
		r.Type("30s")
		to("proof")
		r.Keys("right", "ctrl+s")
		if invs := r.buyer.Invocations(); len(invs) != 1 || invs[0].Params.Capability != "run-tests" || !invs[0].Params.InputStream {
			t.Fatalf("%+v\n%s", invs, r.Screen())
		}
		has := func(label, want string) {
			t.Helper()
			if l := r.line(label); !strings.Contains(l, want) {
				t.Errorf("%q stands in %q, want %q", label, l, want)
			}
		}
		r.Keys("i")
		has("input        ", "for the tests")
		has("more input", "as it runs")
		has("timeout", "30s")
		has("proof", "result hash")
		r.Keys("down") // git-log was never invoked
		has("▌ git-log", "local")
		has("input        ", "none; @file")
		has("more input", "none")
		has("timeout", "10m00; its provider tells no limit")
		has("proof", "none")
		r.Keys("up")
		has("input        ", "for the tests")
		has("more input", "as it runs")
		r.Keys("down")
		to("input        ")
		r.Type("--oneline")
		r.Keys("ctrl+s")
		invs := r.buyer.Invocations()
		if len(invs) != 2 || invs[1].Params.Capability != "git-log" || invs[1].Params.InputStream || invs[1].Params.ProofMethod != "" {
			t.Fatalf("%+v\n%s", invs, r.Screen())
		}
		r.Keys("i") // with what was invoked last
		has("▌ git-log", "local")
		has("input        ", "--oneline")
		to("input        ")
		r.Type(" -3") // what is typed stays, whatever capability it is for
		to("capability")
		r.Keys("up")
		has("input        ", "--oneline -3")
		has("more input", "as it runs")
	})
}

// A whole output of many lines is searched in several goes, and a key comes between
// them.
func TestSearchInAWholeOutput(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, "line %d of an output that is long\n", i)
		}
		r.buyer.Output = []byte("one\ntwo\nthe needle\n" + b.String())
		r.Keys("3", "o", "f")
		r.Type("needle")
		r.Keys("enter")
		r.Must("the needle", `"needle" in line 3`)
		r.Keys("f")
		r.Type("s") // needles
		r.Keys("enter")
		r.Must(`"needles" not found`)
		r.Keys("c")
		r.Must("copy output: too long for the clipboard")
	})
}
