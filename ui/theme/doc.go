// Package theme turns colour tokens into the [Styles] every view draws with. It
// is the only place of the dashboard where a colour or a glyph is chosen.
//
// Text keeps the terminal's own foreground and background, so that it can be
// read even where the terminal does not tell whether it is dark or light; only
// the accent, the muted grey, the states and the selection bring colours. State
// is never colour alone: every state has a glyph and a word.
//
// Styles are immutable after [New] and may be shared. The contrast of every
// token against the backgrounds it is made for is computed by a test.
package theme
