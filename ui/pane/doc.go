// Package pane holds the larger pieces that the screens share: the output pane
// that follows a stream without ever stealing the reader's place, the list with
// its facts that follows in the same way, and the drawing of a lease.
//
// An output pane draws the rows it shows and nothing else: no cost grows with
// the history (B82, B85), and its place is kept by line number, so that lines
// that arrive or are dropped do not move what is being read (B10).
//
// It knows nothing of tasks, items and keys beyond what it is handed.
//
// # Concurrency
//
// Everything belongs to the event loop. View changes nothing but what was
// remembered about the size.
//
// # Testing
//
// Without a program: feed lines, call Do and View, read the rows.
package pane
