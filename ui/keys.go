package ui

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"signalbox/ui/screen"
)

// KeyError says what is wrong with the keys of one action.
type KeyError struct {
	Action string // as it stands in the set of keys
	why    string
}

// Error implements error.
func (e *KeyError) Error() string { return "keys: " + e.why }

// CheckKeys says what is wrong with a set of keys for actions: an action that
// does not exist, a key that two would have, an action left without a key, a key
// that no terminal sends. The error is a [*KeyError].
func CheckKeys(keys map[string][]string) error {
	bad := func(id, format string, args ...any) error { return &KeyError{id, fmt.Sprintf(format, args...)} }
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if indexOf(actions, id) < 0 {
			return bad(id, "there is no action %q; the actions are: %s", id, strings.Join(actionIDs(), ", "))
		}
		if len(keys[id]) == 0 || slices.Contains(keys[id], "") {
			return bad(id, "%s needs a key", id)
		}
		for _, k := range keys[id] {
			if !isKey(k) {
				return bad(id, "%q of %s is not a key; keys are like g, G, ctrl+g, alt+g, f5, space, tab", k, id)
			}
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
				blame := a.id
				if _, mine := keys[blame]; !mine {
					blame = other
				}
				return bad(blame, "%q would be both %s and %s", k, a.id, other)
			}
			owner[k] = a.id
		}
	}
	return nil
}

// isKey reports whether k is the name of a key as [tea.KeyPressMsg.String] gives
// it.
func isKey(k string) bool {
	base := k
	for _, mod := range []string{"ctrl+", "alt+", "shift+"} {
		base = strings.TrimPrefix(base, mod)
	}
	if _, ok := keyCodes[base]; ok || base == "space" || functionKey.MatchString(base) {
		return true
	}
	r, n := utf8.DecodeRuneInString(base)
	printable := n == len(base) && unicode.IsPrint(r) && r != ' '
	// A shifted letter has a name of its own.
	return printable && !strings.Contains(k, "shift+")
}

var functionKey = regexp.MustCompile(`^f([1-9]|1[0-9]|20)$`)

// Binding is one action with its keys.
type Binding struct {
	ID    string
	Keys  []string
	Help  string
	Group string // its heading in the help
}

// KeyMap lists the actions with the keys they have by default.
func KeyMap() []Binding {
	out := make([]Binding, len(actions))
	for i := range actions {
		out[i] = Binding{actions[i].id, slices.Clone(actions[i].keys), actions[i].long, actions[i].group}
	}
	return out
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
