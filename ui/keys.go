package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"signalbox/ui/screen"
)

// CheckKeys says what is wrong with a set of keys for actions: an action that
// does not exist, a key that two would have, an action left without a key. The
// error names the action and the key.
func CheckKeys(keys map[string][]string) error {
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if indexOf(actions, id) < 0 {
			return fmt.Errorf("keys: there is no action %q; the actions are: %s", id, strings.Join(actionIDs(), ", "))
		}
		if len(keys[id]) == 0 || slices.Contains(keys[id], "") {
			return fmt.Errorf("keys: %s needs a key", id)
		}
	}
	owner := map[string]string{"esc": "the frame", "ctrl+c": "the frame"}
	for _, s := range newScreens() {
		for _, b := range s.Bindings() {
			for _, k := range b.Keys {
				if !b.Over {
					owner[k] = "the " + s.Name() + " screen (" + b.Help + ")"
				}
			}
		}
	}
	for _, a := range rebind(keys) {
		for _, k := range a.keys {
			if other, ok := owner[k]; ok {
				return fmt.Errorf("keys: %q would be both %s and %s", k, a.id, other)
			}
			owner[k] = a.id
		}
	}
	return nil
}

func actionIDs() []string {
	out := make([]string, len(actions))
	for i, a := range actions {
		out[i] = a.id
	}
	return out
}

// rebind gives the actions with other keys.
func rebind(keys map[string][]string) []action {
	out := slices.Clone(actions)
	for i := range out {
		if k := keys[out[i].id]; len(k) > 0 {
			out[i].keys = k
		}
	}
	return out
}

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
