package main

// step is one thing the lead does: wait until all of see is shown, take a
// picture if the step names one, then type keys.
type step struct {
	see  []string
	shot string
	keys string
}

// sitting is one run of the demo in one terminal.
type sitting struct {
	w, h  int
	env   []string
	args  []string
	theme string // of the configuration; "" lets the terminal decide
	look  ground
	steps []step
}

func (s sitting) wanted(words []string) bool {
	for _, st := range s.steps {
		if st.shot != "" && wanted(st.shot, words) {
			return true
		}
	}
	return false
}

const esc = "\x1b"

func sittings() []sitting {
	dark := []string{"TERM=xterm-256color", "COLORTERM=truecolor", "NO_COLOR="}
	sixteen := []string{"TERM=xterm-16color", "COLORTERM=", "NO_COLOR="}
	plain := []string{"TERM=xterm-256color", "NO_COLOR=1"}
	demo := []string{"demo", "--seed", "7"}
	// What a queue must hold to be worth a picture.
	queue := []string{"NEEDS YOU", "decide", "grant", "accept", "lease", "LIVE TASKS"}
	return []sitting{
		{w: 132, h: 36, env: dark, args: demo, look: darkGround, steps: []step{
			{see: queue, shot: "queue", keys: "/kind:grant\r"},
			{see: []string{"NEEDS YOU (1)"}, keys: "g"},
			{see: []string{"Grant", "intern"}, shot: "grant", keys: esc},
			{see: []string{"NEEDS YOU (1)"}, keys: esc},
			{see: []string{"decide"}, keys: "\x1b[H\r"},
			{see: []string{"HISTORY", "as of rev"}, shot: "sheet", keys: esc},
			{see: []string{"NEEDS YOU"}, keys: "2"},
			{see: []string{"ATTENTION", "HELD", "COMPLETED"}, shot: "board", keys: "3"},
			{see: []string{"CAPABILITY", "long-build"}, shot: "tasks", keys: "4"},
			{see: []string{"SUMMARY", "AUTHOR"}, shot: "feed", keys: "5"},
			{see: []string{"HOLDS", "LEASE", "reachable"}, shot: "agents", keys: "6"},
			{see: []string{"VERB", "complete"}, shot: "log"},
		}},
		{w: 132, h: 36, env: dark, args: demo, look: lightGround, steps: []step{
			{see: queue, shot: "queue-light"},
		}},
		{w: 80, h: 24, env: dark, args: demo, look: darkGround, steps: []step{
			{see: []string{"NEEDS YOU", "decide", "accept", "LIVE TASKS"}, shot: "queue-80x24", keys: "3"},
			{see: []string{"CAPABILITY"}, shot: "tasks-80x24"},
		}},
		{w: 132, h: 36, env: dark, args: demo, theme: "high-contrast", look: darkGround, steps: []step{
			{see: queue, shot: "queue-contrast"},
		}},
		{w: 132, h: 36, env: sixteen, args: demo, look: darkGround, steps: []step{
			{see: queue, shot: "queue-16", keys: "2"},
			{see: []string{"ATTENTION", "HELD", "COMPLETED"}, shot: "board-16"},
		}},
		{w: 132, h: 36, env: plain, args: demo, look: darkGround, steps: []step{
			{see: queue, shot: "queue-nocolor"},
		}},
	}
}
