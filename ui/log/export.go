package log

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"signalbox/model/text"
	"signalbox/ui/kit"
	"signalbox/ui/screen"
)

// export writes the lines that pass the filter. NDJSON keeps the texts as they
// are, with control characters escaped by JSON; Markdown holds cleaned text
// (B102).
func (s *Screen) export(c *screen.Ctx, n int, markdown bool) screen.Intent {
	if n == 0 {
		return screen.Toast{Text: "No lines to export", Level: screen.Info}
	}
	var b bytes.Buffer
	if markdown {
		b.WriteString("| time | actor | verb | target | change | outcome | reason |\n|---|---|---|---|---|---|---|\n")
	}
	for i := range n {
		l := s.at(c, i)
		if markdown {
			writeMarkdown(&b, &l)
			continue
		}
		row, err := json.Marshal(l)
		if err != nil {
			return screen.Toast{Text: "Cannot export: " + err.Error(), Level: screen.Bad}
		}
		b.Write(row)
		b.WriteByte('\n')
	}
	name := "signalbox-log-" + c.Now.UTC().Format("20060102-150405")
	if markdown {
		name += ".md"
	} else {
		name += ".ndjson"
	}
	return screen.Save{Name: name, Content: b.Bytes()}
}

// markup are the signs by which a text could leave its cell or become a link, a
// picture, code or HTML where the table is shown.
var markup = strings.NewReplacer(`\`, `\\`, `|`, `\|`, `[`, `\[`, `]`, `\]`, `<`, `\<`, `>`, `\>`, "`", "\\`")

func writeMarkdown(b *bytes.Buffer, l *line) {
	cell := func(s string) string { return markup.Replace(text.Line(s)) }
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s |\n", kit.Stamp(l.At), cell(l.Actor), cell(l.Verb),
		cell(text.ID(l.target())), cell(l.change("to")), l.Outcome, cell(l.Reason))
}
