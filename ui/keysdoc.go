package ui

import (
	"fmt"
	"strings"
)

// KeysDoc is docs/keys.md: the key table with the names for the config file, and
// what holds in forms and for the mouse.
func KeysDoc() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nMade from the key map; `?` in the dashboard shows the keys as they are now, and why one cannot act.\n\n")
	b.WriteString(KeyTable())
	b.WriteString(formsDoc)
	b.WriteString("\n## Other keys\n\nIn the config file (`signalbox config init` writes one), by the action's name. A key that two actions\n" +
		"would have, an unknown action and a key that no terminal sends are errors with file and line.\n\n" +
		"```yaml\nkeys:\n  grant: ctrl+g\n  quit: [q, f10]\n```\n\n| action | keys |\n| --- | --- |\n")
	for _, k := range KeyMap() {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", k.ID, strings.Join(k.Keys, "` `"))
	}
	return b.String()
}

const formsDoc = `
## In a form

| key | does |
| --- | --- |
| ` + "`enter`" + ` | next field; in the last one it answers, or where the act is terminal goes to the buttons, with No picked |
| ` + "`ctrl+s`" + ` | answers from any field; where the act is terminal it goes to the buttons, with No picked |
| ` + "`tab` `shift+tab`" + ` | next and previous field, those with a good default too |
| ` + "`left` `right` `up` `down`" + ` | other option; a choice of more than six is narrowed by typing |
| ` + "`y`" + ` and the other letters on buttons | press the button from a button or a short choice, never from a text |
| ` + "`ctrl+e`" + ` | the text in ` + "`$EDITOR`" + ` |
| ` + "`pgup` `pgdown`" + ` | scroll what the form tells |
| ` + "`esc`" + ` | leave; asks before typed text is lost |

A form that opens by itself takes no key until none came for 300 ms. A paste goes into texts only and never
answers or runs anything.

## Mouse

A click selects, on a tab goes there, on the key row presses the key, in a form presses the button or picks the
option; a double click opens. The wheel turns what is under the pointer. The first click after the terminal
got the focus does nothing. ` + "`mouse: off`" + ` in the config leaves the mouse to the terminal.
`
