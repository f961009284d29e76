// Package kit holds the small pieces every screen draws with: bars, ages and
// spans, cells and rows of exact width, columns, a cursor that stays on its row,
// and an editable line.
//
// Everything here is a pure function or a value without goroutines, I/O or
// clock. Text that came from outside must have passed model/text before it
// is handed to a function of this package; the functions that take raw text say
// so.
package kit
