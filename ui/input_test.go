package ui_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// The old filter stands in the line as if selected: a letter replaces it, editing
// keys edit it, ctrl+u clears it.
func TestFilterReplacesTheOldOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		set := func(keys ...string) {
			t.Helper()
			r.Keys("/")
			for _, k := range keys {
				r.Keys(k)
			}
			r.Keys("enter")
		}
		set("k", "i", "n", "d", ":", "g", "r", "a", "n", "t")
		r.Must("filter kind:grant")
		set("d", "b")
		r.Must("filter db,")
		set("backspace")
		r.Must("filter d,")
		set("left", "a")
		r.Must("filter ad,")
		set("ctrl+u")
		r.MustNot("esc clears")
		set("x")
		r.Keys("/")
		r.Raw("\x1b[200~pasted\x1b[201~")
		r.Wait(pasteOver)
		r.Keys("enter")
		r.Must("filter pasted,")
		// esc gives the old one back, whatever was typed over it.
		r.Keys("/", "z", "esc")
		r.Must("filter pasted,")
	})
}

// Toasts have lines of their own: the last row of the body stays readable, and
// comes back down when they go.
func TestToastsCoverNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		_, before := r.Find("task_b1")
		base := r.Row(38)
		r.Keys("D") // no request waits on the row
		r.Must("deny: ", "task_b1")
		if got := r.Row(37); got != base {
			t.Errorf("the line below the body is %q, want %q", got, base)
		}
		if !strings.Contains(r.Row(38), "deny: ") || !strings.Contains(r.Row(39), "commands") {
			t.Errorf("the toast is not between the line and the keys\n%s", r.Screen())
		}
		r.Wait(toastGone)
		r.MustNot("deny: ")
		if _, y := r.Find("task_b1"); y != before {
			t.Errorf("the row was at %d and is at %d\n%s", before, y, r.Screen())
		}
		for range 30 {
			r.Keys("D")
		}
		r.Must("NEEDS YOU", "commands")
		r.Resize(60, 16)
		r.Must("NEEDS YOU")
	})
}

// The mouse presses what the key row shows and what a dialog offers, and turns
// what is under it.
func TestMouseOnKeysAndDialogs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		click := func(needle string) {
			t.Helper()
			x, y := r.Find(needle)
			if x < 0 {
				t.Fatalf("no %q\n%s", needle, r.Screen())
			}
			r.Click(x, y)
		}
		click("d decide")
		r.Must("Decide work:auth:token-rotation")
		click("blocked ")
		r.Must("[blocked]")
		click("esc leave")
		r.MustNot("Decide work:auth")
		click(": commands")
		r.Must("Commands")
		r.Wheel(60, 10, 3)
		r.Keys("esc")
		r.to("accept")
		r.Keys("a")
		click("y accept")
		if len(r.owner.Acts()) != 1 {
			t.Fatalf("%+v\n%s", r.owner.Acts(), r.Screen())
		}
		r.to("grant")
		r.Keys("g")
		click(" back")
		r.MustNot("Grant work:http")
	})
}

// The key row of a form says what enter and ctrl+s do, from every field.
func TestFormSaysHowToSubmit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{Editor: []string{"vi"}}, uitest.Options{W: 120, H: 40})
		r.to("grant")
		r.Keys("p")
		r.Must("enter next field", "ctrl+s post", "esc leave")
		r.Keys("enter")
		r.Type("the seam is cut at the handler")
		r.Must("enter post")
		r.Keys("tab")
		r.Must("enter new line", "ctrl+s post", "ctrl+e $EDITOR")
		r.Keys("ctrl+s")
		if e := r.last().Entry; e == nil || e.Summary != "the seam is cut at the handler" {
			t.Fatalf("%+v\n%s", e, r.Screen())
		}
	})
}

// Help and palette say in the key row what their keys are, an editor is offered
// only where one is named, and long help tells where in it one is.
func TestKeyRowOfHelpAndPalette(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 80, H: 24})
		r.Keys("?")
		r.Must("j/k scroll", "esc close", "(1 to 18 of ")
		r.MustNot("d decide  x cancel")
		r.Keys("pgdown")
		r.MustNot("(1 to 18 of ")
		x, y := r.Find("esc close")
		r.Click(x, y)
		r.MustNot("Keys, as they are now")
		r.Keys(":")
		r.Must("enter do it", "esc leave")
		r.Keys("esc")
		r.to("grant")
		r.Keys("p", "tab", "tab")
		r.MustNot("$EDITOR")
	})
}

// A new task is selected although its first fact comes after the answer; a key or a
// click in between keeps the cursor where the person put it.
func TestNewTaskIsSelected(t *testing.T) {
	for _, key := range []string{"", "down", "click"} {
		t.Run(key, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
				r.Keys("i", "enter", "enter")
				r.Must("─ Tasks")
				switch key {
				case "":
				case "click":
					r.Click(r.Find("task_a7"))
				default:
					r.Keys(key)
				}
				r.facts(uitest.TaskFacts("task_1", "fresh", time.Now().Add(time.Minute))...)
				if at := strings.Contains(r.Screen(), "OUTPUT task_1"); at != (key == "") {
					t.Errorf("after %q the new task is selected: %v\n%s", key, at, r.Screen())
				}
				r.Keys("x") // it was called for, so its keys act at once
				r.Must("Cancel task_")
			})
		})
	}
}

// Streamed input: a file goes in pieces that cut no character, and ends the
// input; text leaves it open (A-161: offered only where it is advertised).
func TestInvokeFeedsAFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "in.txt")
	content := strings.Repeat("wörter über wörter\n", 4000)
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	bubble(t, func(t *testing.T) {
		r := world(t, ui.Options{}, uitest.Options{W: 120, H: 40})
		r.Keys("i")
		r.MustNot("more input")
		r.Keys("esc")
		yes := true
		r.facts(fleet.ProviderSeen{Provider: acmp.Provider{Name: "local", Reachable: &yes, Settings: &acmp.Settings{
			Features: acmp.Features{InputStreaming: true, OutputStreaming: true, Capabilities: []acmp.Capability{{Name: "wc"}}}}}})
		r.Keys("i")
		r.Must("more input")
		r.Keys("enter")
		r.Type("@" + name)
		r.Keys("tab", "tab", "right", "tab", "tab", "tab")
		r.Type("0.02")
		r.Keys("tab", "right", "ctrl+s")
		invs := r.buyer.Invocations()
		if len(invs) != 1 {
			t.Fatalf("%d invocations\n%s", len(invs), r.Screen())
		}
		p := invs[0].Params
		if !p.InputStream || p.Input != nil || p.ProofMethod != acmp.ProofResultHash || p.MaxPriceCU.String() != "0.02" {
			t.Fatalf("%+v", p)
		}
		if got := r.buyer.Fed(); got != content {
			t.Fatalf("%d bytes were fed, want %d", len(got), len(content))
		}
		r.Must("bytes sent")
		r.Keys("i")
		r.Must("as it runs", "result hash") // remembered
	})
}

// The times to wait out: the quiet after a paste, and a toast.
const (
	pasteOver = 60 * time.Millisecond
	toastGone = 6 * time.Second
)
