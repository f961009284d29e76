package acop

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Reload reads a tokens file again and takes over what it says. A file that
// cannot be read, is wrong or names nobody changes nothing: whoever could come
// in still can, and the error says why. Credentials made by Add stay.
func (t *Tokens) Reload(path string) error {
	next, err := LoadTokens(path)
	if err != nil {
		return err
	}
	if next.Len() == 0 {
		return fmt.Errorf("%s holds no tokens; nobody could come in", path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if e.added {
			// Two credentials of one identity with different roles: the one in
			// the file is the operator's later word.
			_ = next.add(e)
		}
	}
	t.entries = next.entries
	return nil
}

// Revoke takes every credential of an identity away and returns how many there
// were.
func (t *Tokens) Revoke(identity string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.entries)
	t.entries = slices.DeleteFunc(t.entries, func(e credential) bool { return e.caller.Identity == identity })
	return before - len(t.entries)
}

// Drop takes one credential away, that of token, and reports whether there was one.
func (t *Tokens) Drop(token string) bool {
	hash := sha256.Sum256([]byte(token))
	t.mu.Lock()
	defer t.mu.Unlock()
	before := len(t.entries)
	t.entries = slices.DeleteFunc(t.entries, func(e credential) bool { return e.hash == hash })
	return len(t.entries) < before
}

// YAML is the list as a tokens file: hashes only, whatever the file it was read
// from held.
func (t *Tokens) YAML() []byte {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var b strings.Builder
	b.WriteString("# Who may come in. Only the SHA-256 of each token is kept; see signalbox token.\n")
	for _, e := range t.entries {
		fmt.Fprintf(&b, "- {identity: %s, role: %s, token_sha256: %s}\n", quoteYAML(e.caller.Identity), e.caller.Role, hex.EncodeToString(e.hash[:]))
	}
	if len(t.entries) == 0 {
		b.WriteString("[]\n")
	}
	return []byte(b.String())
}

// quoteYAML writes text so that it is one YAML string whatever it holds. There
// are no control characters in an identity.
func quoteYAML(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// Credentials counts the tokens of an identity.
func (t *Tokens) Credentials(identity string) int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := 0
	for _, e := range t.entries {
		if e.caller.Identity == identity {
			n++
		}
	}
	return n
}
