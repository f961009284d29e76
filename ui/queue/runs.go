package queue

import (
	"strings"

	"signalbox/model/fleet"
	"signalbox/model/text"
	"signalbox/ui/kit"
)

// runFrom is the index of the first ask of the next run of one kind and severity, seen
// from i; the other way it is the first one of i's own run, or from there of the one
// before. At the ends it stays in the list.
func runFrom(asks []fleet.Ask, i int, down bool) int {
	same := func(a, b int) bool { return asks[a].Kind == asks[b].Kind && asks[a].Severity == asks[b].Severity }
	if len(asks) == 0 {
		return 0
	}
	if down {
		for at := i + 1; at < len(asks); at++ {
			if !same(i, at) {
				return at
			}
		}
		return len(asks) - 1
	}
	at := max(0, i-1) // the first of a run goes to the run before
	for at > 0 && same(at-1, at) {
		at--
	}
	return at
}

// census tells in w cells how many asks of each kind there are, the kinds in their own
// order, so that none moves when a number does. Kinds that have no room are counted
// together; "" where not even two have any.
func census(asks []fleet.Ask, w int, sep string) string {
	count := make(map[fleet.AskKind]int)
	for i := range asks {
		count[asks[i].Kind]++
	}
	var words []string
	for _, k := range fleet.AskKinds() {
		if n := count[k]; n > 0 {
			words = append(words, string(k)+" "+kit.Count(n))
		}
	}
	for told := len(words); told > 1; told-- {
		line := strings.Join(words[:told], sep)
		if rest := len(words) - told; rest > 0 {
			line += sep + kit.Plural(rest, "more kind", "more kinds")
		}
		if text.Width(line) <= w {
			return line
		}
	}
	return ""
}
