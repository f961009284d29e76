// Package text turns remote text into text that is safe to draw, and measures
// and cuts text by terminal cells. It is the one sanitiser and the one width
// function of the program: every surface that a person reads (dashboard,
// command line, window title, error at exit) goes through it (H-096, B01-B08,
// B96-B102).
//
// Remote text is hostile. Choose the function by what the text is:
//
//   - [ID] for ids, paths, branches, commands and everything a person compares
//     or approves: whatever is not plainly visible is shown escaped (\u202e).
//   - [Line] for one-line prose such as titles and summaries.
//   - [Block] for prose of several lines such as details and messages.
//   - [OutputLine] and [Filter] for the output of a task.
//
// What these functions return is valid UTF-8 without ESC, C0 and C1 controls
// (but for the colour sequences OutputLine may keep), without bidirectional
// controls and zero-width tricks, and every grapheme cluster in it is as wide
// by clusters as it is by wcwidth, so that a layout holds in every terminal.
//
// [Width], [Clip], [Pad], [PadLeft], [Middle], [Cut] and [Wrap] expect text
// that went through one of the above; they do not know escape sequences.
//
// The package knows nothing of terminals, styles and screens and imports
// nothing of this program.
//
// # Concurrency
//
// All functions are pure and safe for concurrent use. A [Filter] has one user.
//
// # Testing
//
// Tables for the named cases and fuzz tests for the promises above:
//
//	go test -fuzz FuzzSafe ./model/text
package text
