package ui

import (
	"signalbox/ui/board"
	"signalbox/ui/queue"
	"signalbox/ui/screen"
	"signalbox/ui/tasks"
)

// newScreens makes the six rooms in the order of their tabs.
func newScreens() []screen.Screen {
	return []screen.Screen{queue.New(), board.New(), tasks.New()}
}
