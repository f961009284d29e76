// Package screen is the contract between the frame of the dashboard and its
// screens: what a screen is given to draw with ([Ctx]), what it must be able to
// say about the row under its cursor ([Target]) and what it may ask for
// ([Intent]).
//
// A screen holds cursor, scroll and filter text and nothing else: facts live in
// fleet.State, effects belong to the frame. Because every screen names its
// target in the same way, the frame offers every action on every screen.
//
// # Concurrency
//
// All calls come from the event loop, one at a time. None may block, read the
// clock or start a goroutine.
//
// # Testing
//
// A screen is tested without a program: build a Ctx, call Update, read View.
package screen
