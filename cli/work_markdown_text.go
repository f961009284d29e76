package cli

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
)

// markdownPunctuation is what a backslash may stand before.
const markdownPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// markdownEscape writes s so that markdownText gives it back, on one line and with
// nothing in it that does not print.
func markdownEscape(s string) string {
	var b strings.Builder
	last := len(s) - 1
	for i, r := range s {
		switch {
		case strings.ContainsRune("\\&{}<>[]*_`", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case i == 0 && strings.ContainsRune("#-+=~|", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == ' ' && (i == 0 || i == last) || !printable(r):
			fmt.Fprintf(&b, "&#x%x;", r)
		default:
			b.WriteRune(r)
		}
	}
	return orderedMark.ReplaceAllString(b.String(), `$1\$2`)
}

// orderedMark is the beginning of a line that would make it an element of a list.
var orderedMark = regexp.MustCompile(`^(\d{1,9})([.)])`)

// entity is a character reference of CommonMark.
var entity = regexp.MustCompile(`^&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});`)

// markdownText resolves backslashes and character references. Other marks, such as
// those of emphasis, stay as they are written.
func markdownText(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch ref := entity.FindString(s[i:]); {
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(markdownPunctuation, s[i+1]) >= 0:
			b.WriteByte(s[i+1])
			i += 2
		case ref != "":
			b.WriteString(reference(ref))
			i += len(ref)
		default:
			b.WriteByte(s[i])
			i++
		}
	}
	return b.String()
}

// reference is the character that ref stands for. Numbers are taken at their word:
// HTML's reading would turn some control characters into letters of another age.
func reference(ref string) string {
	var n rune
	if _, err := fmt.Sscanf(strings.ToLower(ref), "&#x%x;", &n); err == nil && n >= 0 {
		return string(n)
	}
	if _, err := fmt.Sscanf(ref, "&#%d;", &n); err == nil && n >= 0 {
		return string(n)
	}
	return html.UnescapeString(ref)
}

// attributeEscape writes a value between the braces behind a task: no blank, brace
// or sign that ends it is left in it.
func attributeEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._:/@+-", r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "&#x%x;", r)
	}
	return b.String()
}
