package screen

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/fleet"
	"signalbox/ui/theme"
)

// ID names a screen.
type ID string

// The screens, in the order of their tabs.
const (
	Queue  ID = "queue"
	Board  ID = "board"
	Tasks  ID = "tasks"
	Feed   ID = "feed"
	Agents ID = "agents"
	Log    ID = "log"
)

// FreshFor is how long what has changed is drawn brighter.
const FreshFor = 1500 * time.Millisecond

// Ctx is what a screen sees during one call. It must not be kept.
type Ctx struct {
	State  *fleet.State
	Now    time.Time // this program's clock, as of the last tick or message
	Styles *theme.Styles
	W, H   int // cells the view must fill exactly; may be 0
	// ReadOnly tells that no act will be offered.
	ReadOnly bool
	// Focused is false while a dialog or an input line has the keys.
	Focused bool
	// Fresh tells that no person has pressed a key or used the mouse yet.
	Fresh bool
	// Marks are the rows marked for a bulk act, over all screens.
	Marks Marks
	// Pending gives the words for an act that was asked for and that the owner
	// or the provider has not confirmed yet ("requested: cancel"), by Target.Key.
	Pending map[string]string
	// Snoozed are the asks put aside, by Ask.Key, with the instant they return;
	// the zero time means when the ask changes.
	Snoozed map[string]time.Time
}

// OwnerNow is Now on the owner's clock: what leases are compared with.
func (c *Ctx) OwnerNow() time.Time {
	if c.State == nil {
		return c.Now
	}
	return c.State.OwnerNow(c.Now)
}

// IsMarked reports whether t is marked.
func (c *Ctx) IsMarked(t Target) bool {
	_, ok := c.Marks[t.Key()]
	return ok
}

// PendingWord gives the words for an act in flight on t, or "".
func (c *Ctx) PendingWord(t Target) string { return c.Pending[t.Key()] }

// Marks is a set of targets by key.
type Marks map[string]Target

// Screen is one of the six rooms. Implementations are pointers.
type Screen interface {
	ID() ID
	// Name is the word of the tab.
	Name() string
	// Badge is the short count beside the tab's name, "" for none.
	Badge(*Ctx) string
	// Update handles a key ([tea.KeyPressMsg]), the mouse ([tea.MouseClickMsg]
	// and [tea.MouseWheelMsg], with X and Y relative to the view), or one of the
	// messages of this package. It returns what it wants done, or nil.
	// Keys arrive only if Bindings names them.
	Update(*Ctx, tea.Msg) Intent
	// View draws exactly W×H cells: H lines joined by \n, each W cells wide.
	View(*Ctx) string
	// Target is the row under the cursor with the revision that is on screen.
	Target(*Ctx) Target
	// Shown lists the targets that pass the filter, in order: for "mark all".
	Shown(*Ctx) []Target
	// Bindings are the keys of this screen alone, as they are now. They must
	// not clash with the frame's keys.
	Bindings() []Binding
	// SetFilter sets the filter text; "" shows all.
	SetFilter(string)
	// Filter is the text set last.
	Filter() string
	// Select puts the cursor on t and reports whether it is there. The screen
	// may clear its filter to show it.
	Select(*Ctx, Target) bool
}

// Scroller is a screen that tells how many rows of its list, or lines of its text,
// are out of sight, as it was drawn last.
type Scroller interface {
	Hidden(*Ctx) (above, below int)
}

// Selector is a screen that at times selects no row although it shows some.
type Selector interface {
	Selectable(*Ctx) bool // whether it shows a row
}

// Binding is one key of a screen as data: matching, help and the key table are
// made from it.
type Binding struct {
	// Keys are the strings of [tea.KeyPressMsg.String].
	Keys []string
	// Do is the screen's own word for what the key does, unique per screen.
	Do string
	// Help says it to a person in at most four words.
	Help string
	// Shown is the key as shown; "" means Keys[0].
	Shown string
	// Row puts it in the key row; else only the help lists it.
	Row bool
	// First puts it in the key row before the acts on the row: what the row waits
	// for.
	First bool
	// Over takes a key of the frame for as long as the binding is listed, for
	// example n while a search is under way. Without it a clash is an error that
	// a test finds.
	Over bool
}

// Match gives the Do of the binding that key belongs to, or "".
func Match(bs []Binding, key string) string {
	for _, b := range bs {
		for _, k := range b.Keys {
			if k == key {
				return b.Do
			}
		}
	}
	return ""
}

// The words for moving that most screens share; see [Nav].
const (
	Up       = "up"
	Down     = "down"
	PageUp   = "page-up"
	PageDown = "page-down"
	Top      = "top"
	Bottom   = "bottom"
	Left     = "left"
	Right    = "right"
	NextPane = "next-pane"
	PrevPane = "prev-pane"
)

// Nav are the bindings for moving in a list.
func Nav() []Binding {
	return []Binding{
		{Keys: []string{"up", "k"}, Do: Up, Help: "up", Shown: "k/up"},
		{Keys: []string{"down", "j"}, Do: Down, Help: "down", Shown: "j/down"},
		{Keys: []string{"pgup", "ctrl+b"}, Do: PageUp, Help: "page up", Shown: "pgup"},
		{Keys: []string{"pgdown", "ctrl+f"}, Do: PageDown, Help: "page down", Shown: "pgdn"},
		{Keys: []string{"home", "<"}, Do: Top, Help: "first", Shown: "home"},
		{Keys: []string{"end", ">"}, Do: Bottom, Help: "last", Shown: "end"},
	}
}
