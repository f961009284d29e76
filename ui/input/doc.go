// Package input stands in front of Bubble Tea's input. Bubble Tea takes an
// escape sequence that a slow link tore apart for key presses (after 50 ms), and
// loses a torn UTF-8 character. A [Reader] holds back what is incomplete until
// it is whole or [Hold] has passed, and drops the rest of a broken terminal
// report, so that no command runs because of it (B13, B14, B23).
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
