// Command screenshots makes the pictures in this folder from the real program:
// it builds the binary, runs `signalbox demo` with a fixed seed on a
// pseudo-terminal, types what a lead would type and draws the terminal's cells
// as SVG. The terminal says which ground it has, so that the program chooses the
// dark or the light theme itself.
//
//	go run ./screenshots             all pictures
//	go run ./screenshots queue log   only those whose name contains one of the words
//	go run ./screenshots light       the one in light
//
// It needs nothing but Go and a Unix system, and owns nothing but the pictures.
//
// Agents at work never play twice the same second, so no picture is compared
// with a new one. The test compares what must not differ: the tabs, the heading
// and the columns of each picture, and the end of its key row, with what the
// screens draw now. When it fails, look at the screen, then take the picture
// anew.
package main
