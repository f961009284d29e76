package acop

import (
	"fmt"
	"time"
)

// timeLayout is the one form in which instants leave this program: UTC,
// milliseconds, upper-case T and Z (binding "Time", H-008, D-54).
const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is an instant on the wire: UTC with millisecond precision. The wire
// value is the authority, so whatever is stored has been through [NewTime].
// The zero value means "not known" and is left out by `omitzero`.
type Time struct{ t time.Time }

// NewTime truncates t to the millisecond that the wire can carry.
func NewTime(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Millisecond)}
}

// ParseTime reads an ISO 8601 instant in UTC with upper-case T and Z and up to
// nine fraction digits. Offsets, missing zones and impossible dates are errors.
func ParseTime(s string) (Time, error) {
	// RFC 3339 parsing in the standard library also takes lower case letters
	// and a comma before the fraction; the shape is checked here first.
	if len(s) < len("2006-01-02T15:04:05Z") || len(s) > len("2006-01-02T15:04:05.000000000Z") ||
		s[10] != 'T' || s[len(s)-1] != 'Z' || (len(s) > 20 && s[19] != '.') || len(s) == 21 {
		return Time{}, fmt.Errorf("%q is not a UTC timestamp like 2026-05-16T19:13:02.000Z", clip(s, 40))
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return Time{}, fmt.Errorf("%q is not a UTC timestamp like 2026-05-16T19:13:02.000Z", clip(s, 40))
	}
	return NewTime(t), nil
}

// Std returns the instant as a time.Time in UTC; the zero Time gives the zero
// time.Time.
func (t Time) Std() time.Time { return t.t }

// IsZero reports whether the instant is unknown.
func (t Time) IsZero() bool { return t.t.IsZero() }

// Before reports whether t lies before u.
func (t Time) Before(u Time) bool { return t.t.Before(u.t) }

// Equal reports whether both name the same instant.
func (t Time) Equal(u Time) bool { return t.t.Equal(u.t) }

// Add returns t moved by d, truncated to milliseconds.
func (t Time) Add(d time.Duration) Time { return NewTime(t.t.Add(d)) }

// Sub returns the span from u to t.
func (t Time) Sub(u Time) time.Duration { return t.t.Sub(u.t) }

// String gives the wire form, or "" for the zero value.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	b, _ := t.AppendText(nil)
	return string(b)
}

// AppendText implements encoding.TextAppender with the wire form. Every record
// and event has several instants, so the one layout is written by hand; it never
// returns an error.
func (t Time) AppendText(b []byte) ([]byte, error) {
	if t.IsZero() {
		return b, nil
	}
	u := t.t.UTC()
	year, month, day := u.Date()
	if year < 0 || year > 9999 {
		return u.AppendFormat(b, timeLayout), nil
	}
	hour, minute, second := u.Clock()
	b = append(appendDigits(b, year, 1000), '-')
	b = append(appendDigits(b, int(month), 10), '-')
	b = append(appendDigits(b, day, 10), 'T')
	b = append(appendDigits(b, hour, 10), ':')
	b = append(appendDigits(b, minute, 10), ':')
	b = append(appendDigits(b, second, 10), '.')
	return append(appendDigits(b, u.Nanosecond()/1e6, 100), 'Z'), nil
}

// appendDigits writes n with as many digits as the unit of its first one has.
func appendDigits(b []byte, n, unit int) []byte {
	for ; unit > 0; unit /= 10 {
		b = append(b, byte('0'+n/unit%10))
	}
	return b
}

// MarshalText implements encoding.TextMarshaler with the wire form.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(make([]byte, 0, len(timeLayout))) }

// UnmarshalText implements encoding.TextUnmarshaler; see [ParseTime].
func (t *Time) UnmarshalText(b []byte) error {
	v, err := ParseTime(string(b))
	if err != nil {
		return err
	}
	*t = v
	return nil
}

// clip shortens s to at most n bytes for use in a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
