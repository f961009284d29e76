package ui

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseLength(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"40": 40 * time.Second, "40s": 40 * time.Second, " 10 m ": 10 * time.Minute, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour,
		"1.5D": 36 * time.Hour, "365d": longestLength, "250ms": 250 * time.Millisecond,
		"": 0, "0": 0, "-5": 0, "-5m": 0, "d": 0, "ten": 0, "1h2d": 0, "366d": 0, "99999999999": 0, "9e9d": 0, "1e3": 0, "NaNd": 0, "3000000h": 0,
	} {
		if got, ok := parseLength(s); got != want || ok != (want > 0) {
			t.Errorf("%q: %s, %v; want %s", s, got, ok, want)
		}
	}
}

// What a form shows is what it reads.
func TestLengthWordsAreRead(t *testing.T) {
	for d, want := range map[time.Duration]string{40 * time.Second: "40s", 10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", 3605 * time.Second: "1h0m5s"} {
		if got := lengthWords(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, int64(longestLength/time.Second)).Draw(t, "seconds")) * time.Second
		if got, ok := parseLength(lengthWords(d)); !ok || got != d {
			t.Fatalf("%s is written %q and read as %s", d, lengthWords(d), got)
		}
	})
}
