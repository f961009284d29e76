package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// terminalLook is how often a server looks whether its terminal is still there, and
// terminalGone how many looks in a row without it make it one that has none.
const (
	terminalLook = time.Second
	terminalGone = 2
)

// hangUps tells the two meanings of SIGHUP apart. Somebody who sends it to a server
// wants its files read again; a terminal that is closed sends it to what was started
// there, which then has nobody left.
type hangUps struct {
	reload chan struct{} // one for each that asks for it; those that come together are one
	closed chan struct{} // closed once the terminal is
	sig    chan os.Signal
}

// watchHangUps takes every SIGHUP from now on, until ctx ends. Where SIGHUP was ignored
// when the program began, as under nohup, it never means the end.
func watchHangUps(ctx context.Context) *hangUps {
	h := &hangUps{reload: make(chan struct{}, 1), closed: make(chan struct{}), sig: make(chan os.Signal, 1)}
	attached := !signal.Ignored(syscall.SIGHUP) && hasTerminal()
	signal.Notify(h.sig, syscall.SIGHUP)
	go func() {
		h.watch(ctx, attached, hasTerminal)
		<-ctx.Done() // a second one must not kill what is ending
		signal.Stop(h.sig)
	}()
	return h
}

// watch sorts the signals until the terminal is closed or ctx ends. A server that lost
// its terminal and was left alone, as by disown, is one that has none: the next SIGHUP
// is meant for it.
func (h *hangUps) watch(ctx context.Context, attached bool, hasTerminal func() bool) {
	look := time.NewTicker(terminalLook)
	defer look.Stop()
	for missed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if missed++; hasTerminal() {
				missed = 0
			}
			if attached = attached && missed < terminalGone; !attached {
				look.Stop()
			}
		case <-h.sig:
			if attached && !hasTerminal() {
				close(h.closed)
				return
			}
			select {
			case h.reload <- struct{}{}:
			default:
			}
		}
	}
}

// untilClosed is ctx that ends with the terminal as well. The caller must call stop.
func (h *hangUps) untilClosed(ctx context.Context) (until context.Context, stop context.CancelFunc) {
	until, stop = context.WithCancel(ctx)
	go func() {
		select {
		case <-h.closed:
			stop()
		case <-until.Done():
		}
	}()
	return until, stop
}
