// Package faults holds no code of the program. Its tests put a real buyer
// (client/acmp) and a real provider (server/acmp) on the two ends of a link that
// cuts, delays, splits, repeats and reorders what passes, by a seed that a failing
// test names, and race cancels, deadlines and results against each other.
//
// It is a package of its own because neither end may know the other, and so that
// it builds with -race in little time.
package faults
