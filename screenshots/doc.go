// Command screenshots makes the pictures in this folder from the real program:
// it builds the binary, runs `signalbox demo` with a fixed seed on a
// pseudo-terminal, types what a lead would type and draws the terminal's cells
// as SVG.
//
//	go run ./screenshots          all pictures
//	go run ./screenshots queue    only those whose name contains the word
//
// It needs nothing but Go and a Unix system.
package main
