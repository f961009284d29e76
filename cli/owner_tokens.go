package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"signalbox/model/acop"
	"signalbox/server/acmp"
	owner "signalbox/server/acop"
)

// tokensEvery is how often an owner looks whether its tokens file changed.
const tokensEvery = time.Second

// tokensFile is the list of an owner that was given none.
func tokensFile(data string) string { return filepath.Join(data, "tokens.yaml") }

// loadTokens reads a list of tokens that a person may have written.
func loadTokens(path string) (*owner.Tokens, error) {
	if err := acmp.CheckFile(path); err != nil {
		return nil, err
	}
	return owner.LoadTokens(path)
}

// tokensIn reads a list that need not exist yet.
func tokensIn(path string) (*owner.Tokens, error) {
	t, err := loadTokens(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &owner.Tokens{}, nil
	case err != nil:
		return nil, failf(exitUsage, "%w", err)
	}
	return t, nil
}

// followTokens takes over changes of the tokens file until ctx ends, so that a
// credential is good, or no longer good, a moment after `signalbox token`.
func (b *ownerBox) followTokens(ctx context.Context) {
	// The first look reads the file whatever its stamp: it may have changed between
	// being loaded and now.
	var seen fileStamp
	t := time.NewTicker(tokensEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if now := stamp(b.list); now != seen {
				seen = now
				b.reloadTokens(false)
			}
		}
	}
}

// fileStamp tells two states of a file apart without reading it.
type fileStamp struct {
	mod  time.Time
	size int64
}

func stamp(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.ModTime(), info.Size()}
}

// Reload reads tokens and certificates again; what is wrong with them stays
// without effect and is said in the log.
func (b *ownerBox) Reload() {
	b.reloadTokens(true)
	if b.tls == nil {
		return
	}
	if err := b.tls.Reload(); err != nil {
		b.log.Error("the certificates are not taken over; the old ones stay in use", "error", err)
		return
	}
	b.log.Info("certificates reloaded")
}

// reloadTokens tells in the log that the list is another one; that it is the same only
// to who asked.
func (b *ownerBox) reloadTokens(asked bool) {
	before := b.tokens.YAML()
	err := acmp.CheckFile(b.list)
	if err == nil {
		err = b.tokens.Reload(b.list)
	}
	if err != nil {
		b.log.Error("the tokens are not taken over; the old ones stay in force", "error", err)
		return
	}
	if asked || !bytes.Equal(before, b.tokens.YAML()) {
		b.log.Info("tokens reloaded", "credentials", b.tokens.Len())
	}
	b.weak.look(b.list, b.tokens, b.log)
}

// tokenWarner says what is wrong with a tokens file that is in use all the same:
// once, and again when it is something else. Its zero value is ready.
type tokenWarner struct {
	mu   sync.Mutex
	said string
}

// look judges the file and what was read from it.
func (w *tokenWarner) look(path string, t *owner.Tokens, log *slog.Logger) {
	open := false
	if info, err := os.Stat(path); err == nil {
		open = openToOthers(info)
	}
	short := t.Short()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := fmt.Sprint(open, short)
	if now == w.said {
		return
	}
	w.said = now
	if open {
		log.Warn("other users can read the tokens; set its mode to 0600", "file", path)
	}
	if len(short) > 0 {
		log.Warn("a token this short can be guessed; replace it by one that `signalbox token add` makes", "file", path, "identities", short)
	}
}

// givenTokens reads a tokens file that somebody wrote.
func givenTokens(path string) (*owner.Tokens, error) {
	t, err := loadTokens(path)
	if err != nil {
		return nil, failf(exitUsage, "%w", err)
	}
	if t.Len() == 0 {
		return nil, failf(exitUsage, "%s holds no tokens; nobody could come in", path)
	}
	return t, nil
}

// localLead is the identity of the lead that an owner makes for itself.
const localLead = "lead-01"

// ownLead gives the local box credentials of its own: the lead's token in
// lead.token, its hash in tokens.yaml, both for this user alone. They are made
// once and found again later. ctx bounds waiting for another program that changes
// the list.
func ownLead(ctx context.Context, data string) (*owner.Tokens, string, error) {
	listFile, tokenFile := tokensFile(data), leadTokenFile(data)
	tokens, err := tokensIn(listFile)
	if err != nil {
		return nil, "", err
	}
	raw, err := os.ReadFile(tokenFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", failf(exitFailed, "%w", err)
	}
	token := strings.TrimSpace(string(raw))
	if id, known := tokens.Principal(token); known && id == localLead {
		return tokens, token, nil
	}
	err = changeTokens(ctx, listFile, func(t *owner.Tokens) error {
		if token, err = t.Add(localLead, acop.RoleLead); err != nil {
			return fmt.Errorf("%s: %w", listFile, err)
		}
		// The token first: a crash in between leaves a token that nothing knows,
		// and the next start makes a new one.
		return writePrivate(tokenFile, []byte(token+"\n"))
	})
	if err != nil {
		return nil, "", err
	}
	if tokens, err = loadTokens(listFile); err != nil { // from now on the file is what counts
		return nil, "", failf(exitFailed, "keep the lead's token in %s: %w", data, err)
	}
	return tokens, token, nil
}
