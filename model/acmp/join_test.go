package acmp

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

func joinAll(parts ...string) string {
	var j Joiner
	var out []byte
	for _, p := range parts {
		out = j.Append(out, Payload{Type: "text", Data: json.RawMessage(p)})
	}
	return string(j.Flush(out))
}

// B24, B70: a character cut between its two escapes is whole again; a half that
// stays alone is one U+FFFD.
func TestJoiner(t *testing.T) {
	cases := []struct {
		parts []string
		want  string
	}{
		{[]string{`"a"`, `"b"`}, "ab"},
		{[]string{`"x\ud83d"`, `"\ude00y"`}, "x\U0001F600y"},
		{[]string{`"\ud83d"`, `""`, `null`, `"\ude00"`}, "\U0001F600"},
		{[]string{`"\ud83d"`, `"z"`}, "\uFFFDz"},
		{[]string{`"\ud83d"`}, "\uFFFD"},
		{[]string{`"\ude00"`}, "\uFFFD"},
		{[]string{`"\ud83d\ud83d\ude00"`}, "\uFFFD\U0001F600"},
		{[]string{`"\ud83d\n"`}, "\uFFFD\n"},
		{[]string{`"\u0041\t\"\\\/\b\f\r"`}, "A\t\"\\/\b\f\r"},
		{[]string{` "sp" `, `{"a":1}`, `7`}, `sp{"a":1}7`},
	}
	for _, c := range cases {
		if got := joinAll(c.parts...); got != c.want {
			t.Errorf("%q: %q, want %q", c.parts, got, c.want)
		}
	}
	var j Joiner
	got := j.Append(nil, Payload{Type: "text", Data: json.RawMessage(`"\ud83d"`)})
	got = j.Append(got, Bytes("image/png", []byte{0, 255}))
	if string(got) != "\uFFFD\x00\xff" {
		t.Errorf("other type: %q", got)
	}
}

// Text written as UTF-16 escapes and cut anywhere between them comes out whole.
func TestJoinerAnyCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		var parts []string
		part := `"`
		for _, u := range utf16.Encode([]rune(want)) {
			part += fmt.Sprintf(`\u%04X`, u)
			if rapid.Bool().Draw(t, "cut") {
				parts, part = append(parts, part+`"`), `"`
			}
		}
		if got := joinAll(append(parts, part+`"`)...); got != string([]rune(want)) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
