package mcp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestShortenFits brings results of every shape under the bound, whole where they
// fit, with valid text, and names what is missing so that all of it can be read.
func TestShortenFits(t *testing.T) {
	t.Parallel()
	list := func(n int, v any) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = v
		}
		return out
	}
	for name, v := range map[string]any{
		"small":           map[string]any{"a": "b", "n": json.Number("1")},
		"one long text":   map[string]any{"a": strings.Repeat("x", 1<<20), "b": "stays"},
		"wide characters": map[string]any{"a": strings.Repeat("界é", 1<<18)},
		"many members":    map[string]any{"a/b~": list(100_000, "src/x")},
		"long members":    map[string]any{"a": list(2000, strings.Repeat("y", 4000))},
		"nested":          map[string]any{"a": list(500, map[string]any{"b": list(500, "z"), "c": strings.Repeat("w", 900)})},
		"quoted":          map[string]any{"a": strings.Repeat("\x01\"", 1<<17)}, // six bytes each, as JSON
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, left := shorten(v, mostResult)
			raw, err := json.Marshal(out)
			if err != nil || len(raw) > mostResult {
				t.Fatalf("%d bytes, %v", len(raw), err)
			}
			full, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if fits := len(full) <= mostResult; fits != (len(left) == 0) {
				t.Fatalf("%d bytes, %d places left out", len(full), len(left))
			}
			for _, o := range first(left, 3) {
				if o.Shown >= o.Of || o.Shown < 0 {
					t.Errorf("%+v", o)
				}
				p, refused := pieceOf(v, o.Path, 0)
				if refused != nil || p.Of != o.Of {
					t.Errorf("%+v is read as %+v, %v", o, p, refused)
				}
			}
		})
	}
}

// TestPiecesAreTheWhole puts a text and a list together from their pieces.
func TestPiecesAreTheWhole(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	rnd := rand.New(rand.NewPCG(1, 2))
	for long.Len() < 5*mostPiece {
		long.WriteRune([]rune("aé界🚂")[rnd.IntN(4)])
	}
	var members []any
	for i := range 9000 {
		members = append(members, fmt.Sprint("member ", i))
	}
	v := map[string]any{"x/y": map[string]any{"s": long.String(), "l": members, "n": true}}
	var text strings.Builder
	for at := 0; ; {
		p, refused := pieceOf(v, "/x~1y/s", at)
		if refused != nil || len(p.Text) > mostPiece || !utf8.ValidString(p.Text) || p.Text == "" {
			t.Fatalf("at %d: %v, %d bytes", at, refused, len(p.Text))
		}
		text.WriteString(p.Text)
		if at = p.NextOffset; at == 0 {
			break
		}
	}
	if text.String() != long.String() {
		t.Error("the pieces are another text")
	}
	var got []any
	for at := 0; ; {
		p, refused := pieceOf(v, "/x~1y/l", at)
		if refused != nil || len(p.Members) == 0 {
			t.Fatalf("at %d: %v", at, refused)
		}
		got = append(got, p.Members...)
		if at = p.NextOffset; at == 0 {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(members) {
		t.Error("the pieces are another list")
	}
	for _, path := range []string{"", "/", "/x~1y", "/x~1y/n", "/x~1y/l/9000", "/x~1y/l/-1", "/x~1y/l/a", "/nothing/at", "x"} {
		if p, refused := pieceOf(v, path, 0); refused == nil {
			t.Errorf("%q is read as %+v", path, p)
		}
	}
	if p, refused := pieceOf(v, "/x~1y/s", 1<<30); refused != nil || p.Text != "" || p.NextOffset != 0 {
		t.Errorf("behind the end: %+v, %v", p, refused)
	}
}
