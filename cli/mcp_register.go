package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"signalbox/model/acop"
	"signalbox/model/text"
	owner "signalbox/server/acop"
)

// agentTokens is the folder with the tokens of agents that registered themselves.
func agentTokens(data string) string { return filepath.Join(data, "agents") }

// agentFile is the name of an agent's own file in a folder.
func agentFile(dir, identity, suffix string) string {
	name := url.PathEscape(identity)
	if len(name) > 100 {
		sum := sha256.Sum256([]byte(identity))
		name = hex.EncodeToString(sum[:])
	}
	return filepath.Join(dir, name+suffix)
}

// register makes sure that the local box lets an agent in and returns its token.
// The token is made once and kept for this user alone; its hash goes to the
// tokens that the box follows. Whose token was taken away since is not let in again.
func (g *globals) register(ctx context.Context, identity string, role acop.Role) (string, error) {
	data := g.localData()
	list := tokensFile(data)
	if b, err := readBox(data); err == nil {
		if err := b.keepsOwnList(list, identity, role); err != nil {
			return "", err
		}
	}
	file := agentFile(agentTokens(data), identity, ".token")
	if t, err := loadTokens(list); err == nil {
		if token, ok := ownToken(t, file, identity); ok {
			return token, nil
		}
	}
	if err := makePrivateDir(agentTokens(data)); err != nil {
		return "", failf(exitUsage, "%w", err)
	}
	var token string
	made := file + ".new" // until the list knows it, so that a crash in between is not taken for a revoke
	err := changeTokens(ctx, list, func(t *owner.Tokens) (err error) {
		for _, f := range []string{file, made} {
			known := false
			if token, known = ownToken(t, f, identity); known {
				return nil // another process of the agent was first
			}
		}
		if _, err := os.Lstat(file); err == nil {
			return acop.Errorf(acop.CodeUnauthenticated, "the token of %s was taken away at the local box; who may let it in again removes %s", text.ID(identity), file)
		}
		if err := otherRole(t, identity, role); err != nil {
			return err
		}
		if token, err = t.Add(identity, role); err != nil {
			return err
		}
		return writePrivate(made, []byte(token+"\n"))
	})
	if err == nil {
		err = keepMade(made, file)
	}
	if err != nil {
		return "", failf(exitUsage, "register %s with the local box: %w", text.ID(identity), err)
	}
	if !g.awaitToken(ctx, list, token) {
		return "", failf(exitUnreachable, "the local box does not let %s in yet; its log says why", text.ID(identity))
	}
	return token, nil
}

// keepMade gives the token that was made its name, unless another process has.
func keepMade(made, file string) error {
	err := os.Rename(made, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// keepsOwnList refuses to register anybody at a box that was given its tokens: whoever
// wrote that list says who comes in, and it is not ours to rewrite.
func (b box) keepsOwnList(list, identity string, role acop.Role) error {
	if b.Tokens == "" || b.Tokens == list {
		return nil
	}
	return failf(exitUsage, "the local box lets in only whom %s lists; make a token with `signalbox token add %s --role %s --tokens %s --out FILE` and give --token-file FILE",
		b.Tokens, text.ID(identity), role, b.Tokens)
}

// otherRole refuses an identity that has another role already: nobody becomes a lead,
// or takes a lead's name, by asking.
func otherRole(t *owner.Tokens, identity string, role acop.Role) error {
	for _, c := range t.Callers() {
		if c.Identity == identity && c.Role != role {
			return fmt.Errorf("%s is a %s at the local box, not a %s; give this agent another name with --as", text.ID(identity), c.Role, role)
		}
	}
	return nil
}

// mayRegister tells beforehand, without a change, what register would refuse. A box
// that does not run yet is taken to make its own tokens.
func (g *globals) mayRegister(ctx context.Context, identity string, role acop.Role) error {
	data := g.localData()
	list := tokensFile(data)
	if b, err := readBox(data); err == nil && answers(ctx, b.URL) {
		if err := b.keepsOwnList(list, identity, role); err != nil {
			return err
		}
	}
	if identity == localLead {
		return failf(exitUsage, "%s is the lead at the local box; give this agent another name with --as", localLead)
	}
	t, err := loadTokens(list)
	if err != nil {
		return nil // there is none yet, or its reader tells
	}
	if err := otherRole(t, identity, role); err != nil {
		return failf(exitUsage, "%w", err)
	}
	return nil
}

// ownToken is the token in file, if it still speaks for the identity.
func ownToken(t *owner.Tokens, file, identity string) (string, bool) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	token := strings.TrimSpace(string(raw))
	id, known := t.Principal(token)
	return token, known && id == identity
}
