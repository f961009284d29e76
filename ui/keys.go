package ui

import (
	"fmt"
	"strings"

	"signalbox/ui/screen"
)

// KeyTable is the README's table of keys in Markdown, made from the registry and
// the screens' bindings.
func KeyTable() string {
	var b strings.Builder
	b.WriteString("| key | does | where |\n| --- | --- | --- |\n")
	for i := range actions {
		a := &actions[i]
		row(&b, strings.Join(a.keys, "` `"), a.long, a.group)
	}
	row(&b, "esc", "one step back; never quits", groupFrame)
	row(&b, "ctrl+c", "quit; twice to leave at once", groupFrame)
	for _, s := range newScreens() {
		for _, bd := range s.Bindings() {
			if isNav(bd.Do) {
				continue
			}
			row(&b, strings.Join(bd.Keys, "` `"), bd.Help, s.Name())
		}
	}
	for _, bd := range screen.Nav() {
		row(&b, strings.Join(bd.Keys, "` `"), bd.Help, "lists")
	}
	return b.String()
}

func row(b *strings.Builder, key, does, where string) {
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", strings.ReplaceAll(key, "|", "\\|"), does, where)
}

func isNav(do string) bool {
	for _, n := range screen.Nav() {
		if n.Do == do {
			return true
		}
	}
	return false
}
