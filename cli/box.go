package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"signalbox/client/acop"
	"signalbox/server/store"
)

// boxWait is how long this program waits for another one that has just taken the
// local box and is not yet serving.
const boxWait = 5 * time.Second

// openBox is the bare `signalbox`: the dashboard on the owner that --server or
// the environment names, else on the local box, which it opens or joins.
func (g *globals) openBox(ctx context.Context) error {
	if err := g.requireTerminal(); err != nil {
		return err
	}
	log, closeLog, err := g.newLogger(nil)
	if err != nil {
		return err
	}
	defer closeLog()
	providers, err := g.loadProviders(false)
	if err != nil {
		return failf(exitUsage, "%w", err)
	}
	d := dashboard{providers: providers, buyerDir: g.buyerDir(), log: log}
	if g.namedServer() != "" {
		target, err := g.findOwner(ctx)
		if err != nil {
			return err
		}
		d.server, d.token = target.URL, target.Token
		return g.runDashboard(ctx, d)
	}
	url, token, own, err := g.joinOrOpen(ctx, log)
	if err != nil {
		return err
	}
	d.server, d.token, d.carriesOwner = url, token, own != nil
	if own == nil {
		return g.runDashboard(ctx, d)
	}
	background := false
	d.background = &background
	err = errors.Join(g.runDashboard(ctx, d), own.Close())
	if background && err == nil {
		// Closed first: only one process may have the folder.
		err = g.keepGoing(context.WithoutCancel(ctx), own.Data, own.URL)
	}
	return err
}

// joinOrOpen finds the owner of the local box or becomes it; own is nil when it
// was found. Who was given a token is who it says, on the own box too.
func (g *globals) joinOrOpen(ctx context.Context, log *slog.Logger) (url string, token acop.TokenFunc, own *ownerBox, err error) {
	given := g.namedTokenFile()
	if given != "" {
		token = fileToken(given)
		if _, err := token(ctx); err != nil {
			return "", nil, nil, failf(exitUsage, "%w", err)
		}
	}
	for deadline := time.Now().Add(boxWait); ; {
		if url, file, ok := localBox(ctx, g); ok {
			if given == "" {
				token = fileToken(file)
			}
			return url, token, nil, nil
		}
		data := g.localData()
		own, err = openOwner(ctx, ownerOptions{Data: data, Listen: usualAddress(ctx, data), Dashboard: true, Log: log})
		if err == nil {
			if err := rememberAddress(data, own.URL); err != nil {
				log.Warn("the address could not be kept for the next start", "error", err)
			}
			if given == "" {
				token = acop.Token(own.LeadToken)
			}
			return own.URL, token, own, nil
		}
		var held *store.ErrInUse
		var taken *addressTaken // it was free a moment ago: somebody opens the box
		if !errors.As(err, &held) && !errors.As(err, &taken) || time.Now().After(deadline) {
			return "", nil, nil, err
		}
		select { // its owner has the folder and will answer soon
		case <-ctx.Done():
			return "", nil, nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
