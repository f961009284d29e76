package fleet

// Output is the bounded tail of a task's output as raw text, in lines. It is
// hostile text: every draw passes it through the sanitiser.
type Output struct {
	Lines   []string // without line ends; the last one may be unfinished
	Dropped int      // lines dropped in front of Lines
	Bytes   int      // held now
	Open    bool     // the last line has no line end yet
	// Type of the chunks: text, json or another MIME-like word.
	Type string
}
