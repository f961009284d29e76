package ui

import (
	"strconv"
	"strings"
	"time"
)

// longestLength is the longest time that a form takes.
const longestLength = 365 * 24 * time.Hour

// lengthUnits stand behind every field that takes a length of time.
const lengthUnits = "s m h d"

// parseLength reads a length of time as people write it: 40s, 10m, 1h30m, 2d, and a
// bare number as seconds. It reports false for what is none, is not above zero or is
// longer than longestLength.
func parseLength(s string) (time.Duration, bool) {
	s = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), " ", ""))
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		ns := n * 24 * float64(time.Hour)
		if err != nil || !(ns > 0 && ns <= float64(longestLength)) { // NaN fails, too
			return 0, false
		}
		return time.Duration(ns), true
	}
	if _, err := strconv.ParseUint(s, 10, 64); err == nil {
		s += "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > longestLength {
		return 0, false
	}
	return d, true
}

// lengthWords writes d as parseLength reads it, without the units that are nought.
func lengthWords(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// validLength refuses what is no length of time of at least least; name says what it is
// the length of. Nothing at all is taken.
func validLength(name string, least time.Duration) func(string) string {
	return func(s string) string {
		if strings.TrimSpace(s) == "" {
			return ""
		}
		if d, ok := parseLength(s); !ok || d < least {
			return name + " is like 40s, 10m or 2h, from " + lengthWords(least) + " to 365d; a bare number is seconds"
		}
		return ""
	}
}
