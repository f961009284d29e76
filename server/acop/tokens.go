package acop

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	core "signalbox/model/acop"
)

// Tokens maps bearer tokens to identities. Only the SHA-256 of a token is kept.
// It is safe for concurrent use.
type Tokens struct {
	mu      sync.RWMutex
	entries []credential
}

type credential struct {
	hash   [sha256.Size]byte
	caller Caller
	// added tells that the credential was made in this process and stands in no
	// file: reading the file again does not take it away.
	added bool
	// short tells that the token stood in the file and has fewer than shortToken
	// characters.
	short bool
}

// shortToken is how many characters a token needs so that trying them all is
// hopeless at the owner's rate of requests, whatever they are taken from.
const shortToken = 16

// tokenEntry is one line of a tokens file.
type tokenEntry struct {
	Identity    string    `yaml:"identity"`
	Role        core.Role `yaml:"role"`
	Token       string    `yaml:"token"`
	TokenSHA256 string    `yaml:"token_sha256"`
}

// LoadTokens reads a strict YAML list of {identity, role, token | token_sha256}.
// Errors name file and line and never show a token.
func LoadTokens(path string) (*Tokens, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	f, err := parser.ParseBytes(b, 0)
	if err != nil {
		return nil, yamlError(path, err)
	}
	t := &Tokens{}
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		list, isList := doc.Body.(*ast.SequenceNode)
		if !isList {
			return nil, fmt.Errorf("%s:%d: expected a list of {identity, role, token}", path, doc.Body.GetToken().Position.Line)
		}
		for _, n := range list.Values {
			if err := t.load(n); err != nil {
				var ye yaml.Error
				if errors.As(err, &ye) {
					return nil, yamlError(path, err)
				}
				return nil, fmt.Errorf("%s:%d: %w", path, n.GetToken().Position.Line, err)
			}
		}
	}
	return t, nil
}

func (t *Tokens) load(n ast.Node) error {
	var e tokenEntry
	if err := yaml.NodeToValue(n, &e, yaml.Strict()); err != nil {
		return err
	}
	if err := checkIdentity(e.Identity); err != nil {
		return err
	}
	if !e.Role.Valid() {
		return fmt.Errorf("the role of %q must be worker, producer, lead, orchestrator or reader", e.Identity)
	}
	var hash [sha256.Size]byte
	switch {
	case e.Token != "" && e.TokenSHA256 != "" || e.Token == "" && e.TokenSHA256 == "":
		return fmt.Errorf("%q needs either token or token_sha256", e.Identity)
	case e.Token != "":
		hash = sha256.Sum256([]byte(e.Token))
	default:
		raw, err := hex.DecodeString(e.TokenSHA256)
		if err != nil || len(raw) != sha256.Size {
			return fmt.Errorf("the token_sha256 of %q is not 64 hexadecimal digits", e.Identity)
		}
		copy(hash[:], raw)
	}
	short := e.Token != "" && utf8.RuneCountInString(e.Token) < shortToken
	return t.add(credential{hash: hash, caller: Caller{Identity: e.Identity, Role: e.Role}, short: short})
}

// Short lists the identities, in order, that have a token of so few characters
// that it can be guessed. Tokens are opaque and any is taken; of one that
// stands in the file as a hash nothing can be said.
func (t *Tokens) Short() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var ids []string
	for _, e := range t.entries {
		if e.short {
			ids = append(ids, e.caller.Identity)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func checkIdentity(id string) error {
	switch {
	case strings.TrimSpace(id) == "":
		return errors.New("an entry without identity")
	case id == ownerActor:
		return fmt.Errorf("the identity %q is the owner's own", id)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unprintable):
		return errors.New("an identity with control characters")
	}
	return nil
}

// unprintable tells whether a character could end a line or steer a terminal.
func unprintable(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// add keeps one credential. One identity may have several tokens of one role.
func (t *Tokens) add(c credential) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.entries {
		if e.hash == c.hash {
			return fmt.Errorf("the token of %q is already used by %q", c.caller.Identity, e.caller.Identity)
		}
		if e.caller.Identity == c.caller.Identity && e.caller.Role != c.caller.Role {
			return fmt.Errorf("%q has two roles, %s and %s", c.caller.Identity, e.caller.Role, c.caller.Role)
		}
	}
	t.entries = append(t.entries, c)
	return nil
}

// Add makes a new token for an identity and returns it; it is shown only once.
func (t *Tokens) Add(identity string, role core.Role) (string, error) {
	if err := checkIdentity(identity); err != nil {
		return "", err
	}
	if !role.Valid() {
		return "", fmt.Errorf("%q is not a role", role)
	}
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	return token, t.add(credential{hash: sha256.Sum256([]byte(token)), caller: Caller{Identity: identity, Role: role}, added: true})
}

// Len is the number of credentials.
func (t *Tokens) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.entries)
}

// Callers lists the known identities in order.
func (t *Tokens) Callers() []Caller {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]Caller, 0, len(t.entries))
	for _, e := range t.entries {
		if !slices.Contains(out, e.caller) {
			out = append(out, e.caller)
		}
	}
	slices.SortFunc(out, func(a, b Caller) int { return strings.Compare(a.Identity, b.Identity) })
	return out
}

// lookup compares with every credential in constant time (H-076).
func (t *Tokens) lookup(token string) (Caller, bool) {
	hash := sha256.Sum256([]byte(token))
	t.mu.RLock()
	defer t.mu.RUnlock()
	var found Caller
	hit := 0
	for _, e := range t.entries {
		if subtle.ConstantTimeCompare(e.hash[:], hash[:]) == 1 {
			found, hit = e.caller, 1
		}
	}
	return found, hit == 1
}

// HashToken is the form in which a token stands in a tokens file.
func HashToken(token string) string {
	h := sha256.Sum256([]byte(token))
	return hex.EncodeToString(h[:])
}
