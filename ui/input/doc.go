// Package input stands in front of Bubble Tea's input. Bubble Tea takes an
// escape sequence that a slow link tore apart for key presses (after 50 ms), and
// loses a torn UTF-8 character. A [Reader] holds back what is incomplete until
// it is whole or [Hold] has passed, and drops the rest of a broken terminal
// report, so that no command runs because of it (B13, B14, B23).
//
// An escape that is a key by itself is passed on as a sequence that says so: one with
// nothing behind it for Hold, one with another sequence behind it, and one with a key
// behind it that came later than a terminal sends a key with alt. An escape and a
// character in one piece stay what terminals mean by it, that character with alt.
//
// The Reader has the file descriptor, so that Bubble Tea sets raw mode on it, but
// no Name, so that Bubble Tea leaves the reading to it.
//
// # Concurrency
//
// One goroutine reads the terminal; Read may be called by several goroutines, of
// which the newest gets the data and the others return with none.
//
// # Testing
//
// The split of a byte stream is a pure function; the timing is tested in
// synctest with an in-memory source.
package input
