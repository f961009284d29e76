package kit

import (
	"strconv"
	"strings"
	"time"
)

// Age says how long ago in at most four cells: now, 12s, 3m, 2h, 4d, 99d+.
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d < 100*24*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	return "99d+"
}

// Ago is Age of the span from t to now, "-" when t is not known.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return Age(now.Sub(t))
}

// Since is Ago in a sentence: just now, 12s ago; - when t is not known.
func Since(t, now time.Time) string {
	switch s := Ago(t, now); s {
	case "-":
		return s
	case "now":
		return "just now"
	default:
		return s + " ago"
	}
}

// Lasting is for how long something has been so, in a sentence: for 12s, since
// just now.
func Lasting(t, now time.Time) string {
	if s := Ago(t, now); s != "now" {
		return "for " + s
	}
	return "since just now"
}

// Plural counts in words: 1 item, 2 items.
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Span is a length of time in at most five cells: 0.8s, 18s, 3m05, 2h10, 4d.
// Negative spans show as 0.0s: the zero has the width of its neighbours, so that
// a clock near zero does not jitter.
func Span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0.0s"
	case d < 10*time.Second:
		return strconv.FormatFloat(float64(d/(100*time.Millisecond))/10, 'f', 1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m" + two(int(d/time.Second)%60)
	case d < 24*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h" + two(int(d/time.Minute)%60)
	}
	return strconv.Itoa(min(999, int(d/(24*time.Hour)))) + "d"
}

func two(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// Clock is the wall time of t in the terminal's zone: 14:02 or 14:02:07.
func Clock(t time.Time, seconds bool) string {
	if t.IsZero() {
		return "-"
	}
	if seconds {
		return t.Local().Format("15:04:05")
	}
	return t.Local().Format("15:04")
}

// Stamp is the absolute time of t for the sheet: 2026-05-16 14:02:07.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// CU shows a price in compute units as it was sent, without a leading zero:
// .003. Prices are decimals; they are never turned into binary fractions.
func CU(n string) string {
	if strings.HasPrefix(n, "0.") {
		return n[1:]
	}
	return n
}

// Count shortens a count to four cells: 999, 1.2k, 34k, 1.5M.
func Count(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 9950:
		return strconv.FormatFloat(float64(n/100)/10, 'f', 1, 64) + "k"
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.FormatFloat(float64(n/100_000)/10, 'f', 1, 64) + "M"
}

// Bytes shortens a size: 812B, 34kB, 1.5MB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10) + "B"
	case n < 1_000_000:
		return strconv.FormatInt(n/1000, 10) + "kB"
	}
	return strconv.FormatFloat(float64(n/100_000)/10, 'f', 1, 64) + "MB"
}
