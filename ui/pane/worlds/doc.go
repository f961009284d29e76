// Package worlds makes read models for the tests of screens: empty, one of
// everything, many, very long, wide and hostile texts, and a box that is cut off
// from its owner. Only tests import it.
//
// Every world is built through fleet.State.Apply, so that what a screen sees in
// a test is what it sees in the program. All instants derive from [Now].
package worlds
