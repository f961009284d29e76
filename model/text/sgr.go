package text

import (
	"strconv"
	"strings"
)

const sgrReset = "\x1b[m"

// sgrParams bounds the parameters of one sequence; more are ignored, as
// terminals do.
const sgrParams = 32

// sgrState follows the colours of a line so that they can be closed at its end
// and, in a stream, opened again after a cut.
type sgrState struct {
	open bool
	seqs []string // admitted sequences since the last reset, bounded
}

// apply takes one whole SGR sequence and returns the admitted part of it.
func (t *sgrState) apply(seq string) string {
	// Both introducers, ESC [ and U+009B, are two bytes long.
	params := admit(seq[2 : len(seq)-1])
	if len(params) == 0 {
		return ""
	}
	if params[0] == "0" {
		t.open, t.seqs = false, nil
		params = params[1:]
		if len(params) == 0 {
			return sgrReset
		}
		return sgrReset + t.push(params)
	}
	return t.push(params)
}

func (t *sgrState) push(params []string) string {
	s := "\x1b[" + strings.Join(params, ";") + "m"
	t.open = true
	if len(t.seqs) == sgrParams {
		t.seqs = t.seqs[1:]
	}
	t.seqs = append(t.seqs, s)
	return s
}

// reopen gives the sequences that bring the state back after a reset.
func (t *sgrState) reopen() string { return strings.Join(t.seqs, "") }

// admit returns the parameters that may pass, with everything before the last
// reset left out. Blinking (5, 6), hiding (8) and fonts are not admitted.
func admit(body string) []string {
	fields := strings.FieldsFunc(body+";", func(r rune) bool { return r == ';' })
	if body == "" || strings.HasPrefix(body, ";") {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) > sgrParams {
		fields = fields[:sgrParams]
	}
	var out []string
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if strings.Contains(f, ":") {
			out = append(out, colonColor(f)...)
			continue
		}
		n, err := strconv.Atoi(f)
		switch {
		case err != nil || n < 0 || n > 255:
		case n == 0:
			out = []string{"0"}
		case n == 38 || n == 48:
			color, used := extended(fields[i+1:])
			if color != nil {
				out = append(out, append([]string{f}, color...)...)
			}
			i += used
		case admitted(n):
			out = append(out, strconv.Itoa(n))
		}
	}
	return out
}

func admitted(n int) bool {
	switch {
	case n >= 1 && n <= 4, n == 7, n == 9, n >= 22 && n <= 24, n == 27, n == 29:
		return true
	case n >= 30 && n <= 37, n >= 39 && n <= 47, n == 49, n >= 90 && n <= 97, n >= 100 && n <= 107:
		return true
	}
	return false
}

// extended reads 5;N or 2;R;G;B and says how many fields it took.
func extended(f []string) (color []string, used int) {
	want := 0
	switch {
	case len(f) == 0:
		return nil, 0
	case f[0] == "5":
		want = 2
	case f[0] == "2":
		want = 4
	default:
		return nil, 1
	}
	if len(f) < want {
		return nil, len(f)
	}
	for _, v := range f[1:want] {
		if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 255 {
			return nil, want
		}
	}
	return f[:want], want
}

// colonColor turns 38:2::R:G:B, 38:2:R:G:B and 38:5:N into the form with
// semicolons; underline styles (4:3) become a plain underline.
func colonColor(f string) []string {
	p := strings.Split(f, ":")
	switch p[0] {
	case "4":
		if p[1] == "0" {
			return []string{"24"}
		}
		return []string{"4"}
	case "38", "48":
		rest := p[1:]
		if len(rest) == 5 && rest[0] == "2" {
			rest = append([]string{"2"}, rest[2:]...) // the colour space is left out
		}
		if color, used := extended(rest); color != nil && used == len(rest) {
			return append([]string{p[0]}, color...)
		}
	}
	return nil
}
