package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"signalbox/model/acop"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// rowsOf are the texts of a picture, row by row.
func rowsOf(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name + ".svg")
	if err != nil {
		t.Fatalf("%v; `go run ./screenshots` makes it", err)
	}
	defer f.Close()
	var rows []string
	at := ""
	for d := xml.NewDecoder(f); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			for _, a := range tok.Attr {
				if tok.Name.Local == "text" && a.Name.Local == "y" && a.Value != at {
					at = a.Value
					rows = append(rows, "")
				}
			}
		case xml.CharData:
			if len(rows) > 0 {
				rows[len(rows)-1] += " " + string(tok)
			}
		}
	}
}

var counts = regexp.MustCompile(`[0-9.]+[kM]?▸?`)

// words are the words of a row without what differs from run to run.
func words(row string) []string { return strings.Fields(counts.ReplaceAllString(ansi.Strip(row), " ")) }

// The pictures show the program as it is: tabs, headings and columns of each are
// those that the screens draw today. What the demo plays differs from run to run
// and is not compared.
func TestPicturesAreFresh(t *testing.T) {
	for _, c := range []struct {
		picture, key string
		w, h         int
		row          int // of the body that holds the heading
		stable       int // how many words of it do not depend on the contents
	}{
		{"queue", "1", 132, 36, 2, 2}, {"queue-light", "1", 132, 36, 2, 2}, {"queue-nocolor", "1", 132, 36, 2, 2},
		{"queue-contrast", "1", 132, 36, 2, 2}, {"queue-16", "1", 132, 36, 2, 2}, {"board-16", "2", 132, 36, 2, 1}, {"queue-80x24", "1", 80, 24, 2, 2},
		{"board", "2", 132, 36, 2, 1}, {"tasks", "3", 132, 36, 2, 9}, {"tasks-80x24", "3", 80, 24, 2, 6},
		{"feed", "4", 132, 36, 2, 6}, {"agents", "5", 132, 36, 2, 9}, {"log", "6", 132, 36, 2, 8},
	} {
		m := ui.New(t.Context(), ui.Options{Identity: "lead-01"})
		m.Update(tea.WindowSizeMsg{Width: c.w, Height: c.h})
		now := time.Now()
		item := uitest.Item("work:one", "One", acop.StatusReady, 5000, now)
		m.Update(ui.FactsMsg{Facts: append(uitest.Facts(now), uitest.Changed(item, acop.VerbPut, 5000, now))})
		m.Update(uitest.Key(c.key))
		live := strings.Split(m.View().Content, "\n")
		rows := rowsOf(t, c.picture)
		if len(rows) <= c.row {
			t.Errorf("%s: %d rows", c.picture, len(rows))
			continue
		}
		// The frame: the tabs, and the name of the screen.
		for _, tab := range []string{"Queue", "Board", "Tasks", "Feed", "Agents", "Log"} {
			if !slices.Contains(words(rows[0]), tab) || !slices.Contains(words(live[0]), tab) {
				t.Errorf("%s: the tab %s is missing:\n%s\n%s", c.picture, tab, rows[0], ansi.Strip(live[0]))
			}
		}
		got, want := words(rows[c.row]), words(live[c.row])
		if len(got) < c.stable || len(want) < c.stable || !slices.Equal(got[:c.stable], want[:c.stable]) {
			t.Errorf("%s: the picture is headed\n%q\nand the screen\n%q\n`go run ./screenshots %s` takes it anew", c.picture, got, want, c.picture)
		}
		// The key row: what acts everywhere stands at its right end.
		last := words(rows[len(rows)-1])
		if now := words(live[len(live)-1]); !slices.Equal(tail(last, 6), tail(now, 6)) {
			t.Errorf("%s: the key row ends with %q, the screen's with %q", c.picture, tail(last, 6), tail(now, 6))
		}
	}
}

func tail(s []string, n int) []string { return s[max(0, len(s)-n):] }

// Each picture is drawn with the colours its name promises: none, sixteen, or those
// of its theme.
func TestPicturesHaveTheirColours(t *testing.T) {
	fill := regexp.MustCompile(`fill="(#[0-9a-f]{6})"`)
	for name, c := range map[string]struct {
		most       int
		has, hasNo []string
	}{
		"queue-nocolor":  {2, []string{"#121419", "#d0d4dc"}, nil},
		"queue-16":       {12, []string{"#ff0000", "#00ffff"}, []string{"#ff8585"}},
		"queue-contrast": {12, []string{"#00ffff", "#ffe14d"}, []string{"#56d4dd"}},
		"queue-light":    {12, []string{"#ffffff", "#00607a"}, []string{"#56d4dd"}},
		"queue":          {12, []string{"#56d4dd", "#f2c55c"}, []string{"#ff0000"}},
	} {
		svg, err := os.ReadFile(name + ".svg")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, m := range fill.FindAllStringSubmatch(string(svg), -1) {
			got[m[1]] = true
		}
		for _, want := range c.has {
			if !got[want] {
				t.Errorf("%s lacks %s: %v", name, want, got)
			}
		}
		for _, not := range c.hasNo {
			if got[not] {
				t.Errorf("%s has %s", name, not)
			}
		}
		if len(got) > c.most {
			t.Errorf("%s has %d colours: %v", name, len(got), got)
		}
	}
}

// The sheet and the dialog are there and show what they are of.
func TestPicturesOfSheetAndDialog(t *testing.T) {
	for name, want := range map[string][]string{"sheet": {"HISTORY", "revision"}, "grant": {"Grant", "TTL", "reason"}} {
		all := strings.Join(rowsOf(t, name), "\n")
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%s lacks %q", name, w)
			}
		}
	}
}
