// Package board is the second screen: all work items as cards in columns by
// status, or as one grouped list where there is no room for columns or another
// grouping was asked for.
//
// The order is computed when items change and kept until they do; a view draws
// the cards it shows. The selected card stays selected wherever it moves, so
// that a key never lands on the card that slid into its place.
//
// It knows nothing of acts: they belong to the frame.
//
// # Concurrency
//
// Everything belongs to the event loop.
//
// # Testing
//
// Build a screen.Ctx, call Update, read View; see board_test.go.
package board
