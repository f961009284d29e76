// Package tty stands between Bubble Tea and the terminal. Bubble Tea writes a
// frame while it holds a lock that the next key needs: where the terminal takes
// nothing, as after ctrl+s or over a link that hangs, the whole dashboard would
// stand with it. A [Writer] takes what is written at once and hands it on from a
// goroutine of its own; while some of it waits it says so, so that no further frame
// is drawn and those in between are skipped and not queued (B95).
//
// What was taken goes out whole and in its order: frames are differences to the one
// before, so none may be left out. Only where as much waits as may, usually [Limit], writes are
// refused; whoever runs the program is told that then, and draws anew from nothing.
//
// # Concurrency
//
// Every method may be called from several goroutines. The goroutine that writes
// lives only while something waits.
//
// # Testing
//
// On a real pseudo terminal whose other side reads late, slowly or never.
package tty
