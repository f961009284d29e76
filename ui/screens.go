package ui

import (
	"signalbox/ui/agents"
	"signalbox/ui/board"
	"signalbox/ui/feed"
	"signalbox/ui/log"
	"signalbox/ui/queue"
	"signalbox/ui/screen"
	"signalbox/ui/tasks"
)

// newScreens makes the six rooms in the order of their tabs.
func newScreens() []screen.Screen {
	return []screen.Screen{queue.New(), board.New(), tasks.New(), feed.New(), agents.New(), log.New()}
}
