package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
	"signalbox/model/text"
	owner "signalbox/server/acop"
)

func newTokenCommand(g *globals) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Say who may come in at the owner",
		Long: "Make, list and take away credentials. Only the hash of each token is kept, in the\n" +
			"local box's tokens.yaml or in the file that --tokens names. A running owner takes\n" +
			"changes over within a second; add waits until it has.",
	}
	cmd.PersistentFlags().StringVar(&file, "tokens", "", "tokens file (default: the local box's)")
	list := func() string {
		if file != "" {
			return file
		}
		return tokensFile(g.localData())
	}
	var role, out string
	add := &cobra.Command{
		Use:   "add IDENTITY --role ROLE",
		Short: "Make a token and print it, this once, or write it to a file",
		Example: "  signalbox token add worker-7 --role worker --out worker-7.token\n" +
			"  TOKEN=$(signalbox token add worker-7 --role worker)",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" && cmd.Flags().Changed("out") {
				return failf(exitUsage, "--out names no file")
			}
			return g.tokenAdd(cmd.Context(), list(), args[0], acop.Role(role), out)
		},
	}
	add.Flags().StringVar(&role, "role", "", "worker, producer, lead, orchestrator or reader")
	add.Flags().StringVar(&out, "out", "", "write the token to this file, readable for you alone, and print none of it")
	_ = add.MarkFlagRequired("role")
	force := false
	revoke := &cobra.Command{
		Use:   "revoke IDENTITY",
		Short: "Take all tokens of an identity away",
		Long: "Take all tokens of an identity away. The last identity that is a lead or an\n" +
			"orchestrator keeps its own, for nobody else may grant, accept or revoke work,\n" +
			"unless --force is given. Somebody always keeps a token.",
		Args: cobra.ExactArgs(1),

		ValidArgsFunction: completeIdentities(list),
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.tokenRevoke(cmd.Context(), list(), args[0], force)
		},
	}
	revoke.Flags().BoolVar(&force, "force", false, "also the last lead's, as where leads come in by other means")
	cmd.AddCommand(add, revoke, &cobra.Command{
		Use:   "list",
		Short: "List who may come in",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return g.tokenList(list()) },
	})
	return cmd
}

// tokenWait bounds how long `token add` waits for the running owner.
const tokenWait = 3 * time.Second

// awaitToken waits until the owner that follows the tokens file, if one runs, lets
// the new token in. It reports false when the owner runs and still does not.
func (g *globals) awaitToken(ctx context.Context, path, token string) bool {
	url := g.ownerOf(ctx, path)
	if url == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, tokenWait)
	defer cancel()
	for {
		if letsIn(ctx, url, token) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ownerOf is the address of the running owner that follows the tokens file, ""
// for none that is known: the note of one stands beside the tokens it made, or in
// the local box.
func (g *globals) ownerOf(ctx context.Context, path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for _, data := range []string{filepath.Dir(path), g.localData()} {
		if b, err := readBox(data); err == nil && b.Tokens == path && answers(ctx, b.URL) {
			return b.URL
		}
	}
	return ""
}

// letsIn reports whether the owner at base accepts the token. Any answer but 401
// does: what the role may read is another matter. One whose certificate is not known
// here cannot be asked.
func letsIn(ctx context.Context, base, token string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"settings", nil)
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return untrusted(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode != http.StatusUnauthorized
}

// tokenAdd prints nothing but the token on stdout, or writes it to the file out, which
// then is all that has it.
func (g *globals) tokenAdd(ctx context.Context, path, identity string, role acop.Role, out string) error {
	if !role.Valid() {
		return failf(exitUsage, "--role must be worker, producer, lead, orchestrator or reader, not %q", role)
	}
	if err := usableOut(out, path); err != nil {
		return failf(exitUsage, "--out %s: %w", text.Line(out), err)
	}
	if _, err := new(owner.Tokens).Add(identity, role); err != nil {
		return failf(exitUsage, "%w", err)
	}
	var token string
	err := changeTokens(ctx, path, func(t *owner.Tokens) (err error) {
		for _, c := range t.Callers() {
			if c.Identity == identity && c.Role != role {
				return fmt.Errorf("%s is %s in %s, and nobody has two roles; choose another name, or first take its tokens away with `signalbox token revoke %s`",
					text.ID(identity), c.Role, path, shellLine([]string{identity}))
			}
		}
		if token, err = t.Add(identity, role); err != nil || out == "" {
			return err
		}
		return keepToken(out, token) // first, so that no token counts that nobody has
	})
	if err != nil {
		return err
	}
	known := g.awaitToken(ctx, path, token)
	if err := g.tellToken(identity, role, token, out); err != nil {
		if out != "" {
			return err // it is in the file
		}
		undone := changeTokens(context.WithoutCancel(ctx), path, func(t *owner.Tokens) error {
			t.Drop(token) // nobody has it: it must not stay good
			return nil
		})
		if undone != nil {
			return err
		}
		return failf(exitFailed, "%w; the token is taken back", err)
	}
	if !known {
		fmt.Fprintln(g.sys.Stderr, "the running owner has not taken it over yet; its log says why if it does not")
	}
	return nil
}

func (g *globals) tokenList(path string) error {
	t, err := tokensIn(path)
	if err != nil {
		return err
	}
	if g.json {
		type line struct {
			Identity string    `json:"identity"`
			Role     acop.Role `json:"role"`
			Tokens   int       `json:"tokens"`
		}
		lines := []line{}
		for _, c := range t.Callers() {
			lines = append(lines, line{c.Identity, c.Role, t.Credentials(c.Identity)})
		}
		return stdoutError(json.NewEncoder(g.sys.Stdout).Encode(lines))
	}
	rows := newTable("IDENTITY", "ROLE", "TOKENS")
	for _, c := range t.Callers() {
		rows.add(cell(c.Identity), string(c.Role), fmt.Sprint(t.Credentials(c.Identity)))
	}
	if len(t.Callers()) == 0 {
		return printed(fmt.Fprintln(g.sys.Stdout, "there is no token yet; `signalbox token add` makes one"))
	}
	return printed(fmt.Fprint(g.sys.Stdout, rows.String()))
}

func (g *globals) tokenRevoke(ctx context.Context, path, identity string, force bool) error {
	n := 0
	nobody := fmt.Errorf("there is no token for %s in %s; `signalbox token list` shows whose there are", text.ID(identity), path)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return failf(exitFailed, "%w", nobody) // and no folder is made for it
	}
	err := changeTokens(ctx, path, func(t *owner.Tokens) error {
		led := leads(t)
		switch n = t.Revoke(identity); {
		case n == 0:
			return nobody
		case t.Len() == 0:
			return fmt.Errorf("%s has the last token of %s, and nobody could come in; add another one first", text.ID(identity), path)
		case led && !leads(t) && !force:
			return fmt.Errorf("%s is the last lead of %s, and nobody could grant or accept work; add another one first with `signalbox token add NAME --role lead`, or take it away all the same with --force", text.ID(identity), path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if g.json {
		return stdoutError(json.NewEncoder(g.sys.Stdout).Encode(map[string]any{"identity": identity, "revoked": n}))
	}
	fmt.Fprintf(g.sys.Stderr, "%s taken away from %s\n", plural(n, "token", "tokens"), text.ID(identity))
	return nil
}

// leads reports whether one of the list may decide as a lead does.
func leads(t *owner.Tokens) bool {
	return slices.ContainsFunc(t.Callers(), func(c owner.Caller) bool { return c.Role.LeadVerbs() })
}

// changeTokens rewrites a tokens file as a whole, for this user alone. Two that
// do it at once come one after the other.
func changeTokens(ctx context.Context, path string, change func(*owner.Tokens) error) error {
	if err := makePrivateDir(filepath.Dir(path)); err != nil {
		return failf(exitUsage, "%w", err)
	}
	leave, err := holdFile(ctx, path+".lock")
	if errors.Is(err, context.Canceled) {
		return failf(exitInterrupted, "")
	}
	if err != nil {
		return failf(exitFailed, "%s is not changed: %w", path, err)
	}
	defer leave()
	t, err := tokensIn(path)
	if err != nil {
		return err
	}
	if err := change(t); err != nil {
		return failf(exitFailed, "%w", err)
	}
	next := t.YAML()
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, next) {
		return nil
	}
	if err := writePrivate(path, next); err != nil {
		return failf(exitFailed, "write the tokens: %w", err)
	}
	return nil
}
