package tasks

import "signalbox/ui/screen"

// Hidden implements screen.Scroller: the tasks out of sight.
func (s *Screen) Hidden(c *screen.Ctx) (above, below int) {
	ts := s.tasks(c)
	s.selected(c, ts)
	return s.cur.Hidden(len(ts))
}
