package ui

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"signalbox/ui/pane/worlds"
	"signalbox/ui/uitest"
)

// On every screen the help has every key beside what it does there: those of the
// screen and those of the frame that it does not take.
func TestHelpHasEveryKeyOfEveryScreen(t *testing.T) {
	for at, s := range newScreens() {
		m := sweepModel(t, worlds.One(), [2]int{240, 70})
		m.rooms.at = at
		var taken []string
		want := map[string]string{"esc": "one step back; never quits", "ctrl+c": "quit; twice to leave at once"}
		for _, b := range m.room().Bindings() {
			want[b.Keys[0]] = b.Help
			for _, k := range b.Keys[1:] { // beside the first or below it
				want[k] = ""
			}
			taken = append(taken, b.Keys...)
		}
		for _, a := range actions {
			if !slices.Contains(taken, a.keys[0]) {
				want[strings.Join(a.keys, " ")] = a.long
			}
		}
		m.openHelp(nil)
		seen := ""
		for range 4 { // however long it is
			content, _ := m.frame()
			seen += ansi.Strip(content) + "\n"
			m.onKey(uitest.Key("pgdown"))
			m.settle()
		}
		for keys, help := range want {
			// The help may be broken: its beginning stands in the line of the key.
			words := strings.Fields(help)
			begin := strings.Join(words[:min(3, len(words))], " ")
			if !regexp.MustCompile(`(^|[\s│])` + regexp.QuoteMeta(keys) + `( \S+)*\s+` + regexp.QuoteMeta(begin)).MatchString(seen) {
				t.Errorf("%s: the help does not have %q beside %q", s.Name(), keys, begin)
			}
		}
	}
}

// The number of a screen goes there from each of the others.
func TestNumbersGoFromEverywhere(t *testing.T) {
	for from := range newScreens() {
		for to, s := range newScreens() {
			if from == to {
				continue
			}
			m := sweepModel(t, worlds.One(), [2]int{120, 40})
			m.rooms.at = from
			m.onKey(uitest.Key(m.actionByID("go-" + string(s.ID())).keys[0]))
			if got := m.room().Name(); got != s.Name() {
				t.Errorf("from %s to %s: %s", m.rooms.all[from].Name(), s.Name(), got)
			}
		}
	}
}

// What needs nothing but a row, or not even that, says why it cannot act, too.
func TestRefusalsOfWhatIsNearlyAlwaysPossible(t *testing.T) {
	m := sweepModel(t, worlds.One(), [2]int{120, 40})
	m.opts.Editor = nil
	if id := m.target().WorkItemID; id == "" {
		t.Fatal("no item is selected")
	}
	m.onKey(uitest.Key("e"))
	m.settle()
	if content, _ := m.frame(); !strings.Contains(ansi.Strip(content), "neither VISUAL nor EDITOR is set") {
		t.Errorf("edit without an editor:\n%s", ansi.Strip(content))
	}
	m = sweepModel(t, worlds.Empty(), [2]int{120, 40})
	m.onKey(uitest.Key("*"))
	m.settle()
	if content, _ := m.frame(); !strings.Contains(ansi.Strip(content), "mark all: no row is shown") || len(m.marks) != 0 {
		t.Errorf("mark all without a row:\n%s", ansi.Strip(content))
	}
}
