package ui

import (
	"slices"
	"testing"

	"signalbox/ui/theme"
)

// A vertical line in remote text is no line between panes: the rules above and
// below get no tee for it.
func TestRemoteLinesAreNoJunctions(t *testing.T) {
	for name, st := range map[string]*theme.Styles{
		"colour": theme.New(theme.Options{Dark: true}), "plain": theme.New(theme.Options{Depth: theme.NoColor}), "ascii": theme.New(theme.Options{Depth: theme.NoColor, ASCII: true}),
	} {
		v := st.Faint.Render(st.G.V)
		rows := []string{
			"a " + st.G.V + " title     " + v + " details",
			"a row of text " + v + " details",
			"              " + v,
			"你好 wide     " + v,
		}
		if got := junctions(st, rows); !slices.Equal(got, []int{14}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := junctions(theme.New(theme.Options{}), nil); got != nil {
		t.Errorf("%v", got)
	}
}
