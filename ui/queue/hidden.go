package queue

import "signalbox/ui/screen"

// Hidden implements screen.Scroller: the asks out of sight.
func (s *Screen) Hidden(c *screen.Ctx) (above, below int) {
	asks, _ := s.sync(c)
	return s.asks.Hidden(len(asks))
}
