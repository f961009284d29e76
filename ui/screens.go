package ui

import (
	"signalbox/ui/queue"
	"signalbox/ui/screen"
)

// newScreens makes the six rooms in the order of their tabs.
func newScreens() []screen.Screen {
	return []screen.Screen{queue.New()}
}
