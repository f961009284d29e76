package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signalbox/model/acop"
)

// mostInWindow is more than any one result may have, text and structure together.
const mostInWindow = 96 << 10

// windowed is what a result says of its own size.
type windowed struct {
	LeftOut []struct {
		Path      string
		Shown, Of int
	} `json:"left_out"`
	Piece *struct {
		Text       string
		Members    []any
		Of         int
		NextOffset int `json:"next_offset"`
	}
	Before  uint64
	Entries []acop.Posted
}

// sized calls a tool and sees to it that the result fits into a model's window.
func (a *agent) sized(tool, args string) (string, windowed) {
	a.t.Helper()
	res, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		a.t.Fatal(err)
	}
	raw, err := json.Marshal(res)
	if err != nil || len(raw) > mostInWindow || res.IsError {
		a.t.Fatalf("%s %s: %d bytes, error %v, %v", tool, args, len(raw), res.IsError, err)
	}
	var w windowed
	structure, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(structure, &w)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return res.Content[0].(*sdk.TextContent).Text, w
}

// readWhole reads everything that a result left out, as its own words say to.
func (a *agent) readWhole(tool, args string) map[string]string {
	a.t.Helper()
	said, w := a.sized(tool, "{"+args+"}")
	if len(w.LeftOut) == 0 || !strings.Contains(said, "Left out here") || !strings.Contains(said, w.LeftOut[0].Path) {
		a.t.Fatalf("nothing is said of what is left out of %+v: %s", w.LeftOut, said)
	}
	whole := map[string]string{}
	for _, o := range w.LeftOut {
		var b strings.Builder
		for at := 0; ; {
			_, p := a.sized(tool, fmt.Sprintf("{%s,%q:%q,%q:%d}", args, "path", o.Path, "offset", at))
			if p.Piece == nil || p.Piece.Of != o.Of {
				a.t.Fatalf("%s from %d on: %+v", o.Path, at, p.Piece)
			}
			b.WriteString(p.Piece.Text)
			for _, m := range p.Piece.Members {
				fmt.Fprintln(&b, m)
			}
			if p.Piece.NextOffset == 0 {
				break
			}
			if p.Piece.NextOffset <= at {
				a.t.Fatalf("%s does not go on from %d", o.Path, at)
			}
			at = p.Piece.NextOffset
		}
		whole[o.Path] = b.String()
	}
	return whole
}

// TestNotesFillNoWindow reads a board with one note of 900 KB and many others: what
// comes at once is bounded, and all of it can be had.
func TestNotesFillNoWindow(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	both(t, func(t *testing.T, r *agentRig, dial func(string) *agent) {
		a := dial("claude-01")
		a.must("acop_create_work_item", `{"work_item_id":"w-1","work_kind":"implement","title":"t"}`)
		details := strings.Repeat("a line of a log that nobody wants\n", 900_000/34)
		for i := range 50 {
			text := fmt.Sprint("detail ", i)
			if i == 40 {
				text = details
			}
			args, err := json.Marshal(map[string]any{"work_item_id": "w-1", "entry_kind": "finding", "summary": fmt.Sprint("note ", i),
				"entry_id": fmt.Sprint("e-", i), "details": text})
			if err != nil {
				t.Fatal(err)
			}
			a.sized("acop_post_blackboard", string(args)) // the echo is bounded as well
		}
		a.sized("acop_get_work_item", `{"work_item_id":"w-1"}`)
		said, w := a.sized("acop_blackboard", `{"work_item_id":"w-1"}`)
		if len(w.LeftOut) != 1 || len(w.Entries) != 20 || !strings.Contains(said, "entry_id") || !strings.Contains(said, "before") {
			t.Fatalf("%d notes, left out %+v: %s", len(w.Entries), w.LeftOut, said)
		}
		if got := a.readWhole("acop_blackboard", `"entry_id":"e-40"`)["/entries/0/entry/details"]; got != details {
			t.Errorf("%d of %d bytes of the long note can be read", len(got), len(details))
		}
		seen := map[string]bool{}
		for before := uint64(0); ; {
			_, w := a.sized("acop_blackboard", fmt.Sprintf(`{"work_item_id":"w-1","limit":7,"before":%d}`, before))
			for _, e := range w.Entries {
				seen[e.Entry.EntryID] = true
			}
			if before = w.Before; before == 0 {
				break
			}
		}
		if len(seen) != 50 {
			t.Errorf("%d of 50 notes are found on the pages", len(seen))
		}
		if _, w := a.sized("acop_blackboard", `{"entry_id":"none"}`); len(w.Entries) != 0 {
			t.Errorf("a note that is not there: %+v", w.Entries)
		}
		for _, uri := range []string{"acop://work-items/w-1", "acop://blackboard/w-1"} {
			res, err := a.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Contents[0].Text; len(got) > 300<<10 || !strings.Contains(got, `"left_out"`) || !strings.Contains(got, "note 49") {
				t.Errorf("%s has %d bytes", uri, len(got))
			}
		}
	})
}
