package screen

import "signalbox/model/acmp"

// Intent is something a screen wants the frame to do. The types are data; the
// frame alone acts.
type Intent interface{ intent() }

// OpenSheet opens the sheet of what is selected.
type OpenSheet struct{ Target Target }

// RunAction runs an action of the frame by its id ("grant", "cancel", …) on Target, with
// all the checks and dialogs its key would bring.
type RunAction struct {
	ID     string
	Target Target
}

// Copy puts Text on the clipboard; What names it in the toast.
type Copy struct {
	Text, What string
	// Make, if not nil, makes a long text outside of the event loop; it touches nothing
	// that changes.
	Make func() string
}

// Toast shows one line for some seconds.
type Toast struct {
	Text  string
	Level Level
}

// SwitchTo goes to another screen and selects Target there, if not zero.
type SwitchTo struct {
	Screen ID
	Target Target
}

// EditFilter opens the filter line with the screen's present filter.
type EditFilter struct{}

// Prompt opens a one-line input; the text comes back as [Prompted].
type Prompt struct {
	For   string // given back, so that the screen knows what it asked
	Title string
	Text  string // to begin with
}

// LoadTranscript asks for the whole output of a task; it comes back as
// [Transcript].
type LoadTranscript struct{ TaskID string }

// SendInput sends one chunk of streamed input to a task of ours.
type SendInput struct {
	TaskID string
	Chunk  acmp.Payload
	Final  bool
}

// GoOn asks for [Continue] after what else there is to do: the screen is at work that
// would keep a key waiting.
type GoOn struct{}

// Save writes Content to a new file called Name in the directory for exports.
type Save struct {
	Name    string
	Content []byte
}

// Batch is several intents in order.
type Batch []Intent

func (OpenSheet) intent()      {}
func (RunAction) intent()      {}
func (Copy) intent()           {}
func (Toast) intent()          {}
func (SwitchTo) intent()       {}
func (EditFilter) intent()     {}
func (Prompt) intent()         {}
func (LoadTranscript) intent() {}
func (SendInput) intent()      {}
func (Save) intent()           {}
func (GoOn) intent()           {}
func (Batch) intent()          {}

// Level grades a toast.
type Level int

// The levels of a toast: Bad stays until seen.
const (
	Info Level = iota
	Good
	Warn
	Bad
)

// Prompted answers [Prompt]; Ok is false when it was left with esc.
type Prompted struct {
	For, Text string
	Ok        bool
}

// Transcript answers [LoadTranscript]. Text is raw and hostile, at most
// TranscriptLimit bytes of the end of the output; Skipped counts the bytes in
// front of it.
type Transcript struct {
	TaskID  string
	Text    []byte
	Skipped int64
	Err     error
}

// TranscriptLimit bounds what one transcript may hold in memory, in bytes.
const TranscriptLimit = 16 << 20

// Continue answers [GoOn].
type Continue struct{}

// Applied tells the screen that shown facts changed. It comes at most once per
// batch of facts, before the next View.
type Applied struct{}
