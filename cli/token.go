package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
			"changes over within a second.",
	}
	cmd.PersistentFlags().StringVar(&file, "tokens", "", "tokens file (default: the local box's)")
	list := func() string {
		if file != "" {
			return file
		}
		return tokensFile(g.localData())
	}
	var role string
	add := &cobra.Command{
		Use:     "add IDENTITY --role ROLE",
		Short:   "Make a token and print it, this once",
		Example: "  signalbox token add worker-7 --role worker > worker-7.token",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return g.tokenAdd(list(), args[0], acop.Role(role)) },
	}
	add.Flags().StringVar(&role, "role", "", "worker, producer, lead, orchestrator or reader")
	_ = add.MarkFlagRequired("role")
	cmd.AddCommand(add, &cobra.Command{
		Use:   "list",
		Short: "List who may come in",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return g.tokenList(list()) },
	}, &cobra.Command{
		Use:   "revoke IDENTITY",
		Short: "Take all tokens of an identity away",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return g.tokenRevoke(list(), args[0]) },
	})
	return cmd
}

// tokenAdd prints nothing but the token on stdout, so that it can go into a file.
func (g *globals) tokenAdd(path, identity string, role acop.Role) error {
	if !role.Valid() {
		return failf(exitUsage, "--role must be worker, producer, lead, orchestrator or reader, not %q", role)
	}
	var token string
	err := changeTokens(path, func(t *owner.Tokens) (err error) {
		token, err = t.Add(identity, role)
		return err
	})
	if err != nil {
		return err
	}
	if g.json {
		return json.NewEncoder(g.sys.Stdout).Encode(map[string]any{"identity": identity, "role": role, "token": token})
	}
	fmt.Fprintln(g.sys.Stdout, token)
	fmt.Fprintf(g.sys.Stderr, "%s may come in as %s; this token is not shown again\n", text.ID(identity), role)
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
		return json.NewEncoder(g.sys.Stdout).Encode(lines)
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

func (g *globals) tokenRevoke(path, identity string) error {
	n := 0
	err := changeTokens(path, func(t *owner.Tokens) error {
		if n = t.Revoke(identity); n == 0 {
			return fmt.Errorf("there is no token for %s in %s; `signalbox token list` shows whose there are", text.ID(identity), path)
		}
		if t.Len() == 0 {
			return fmt.Errorf("%s has the last token of %s, and nobody could come in; add another one first", text.ID(identity), path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(g.sys.Stderr, "%s taken away from %s\n", plural(n, "token", "tokens"), text.ID(identity))
	return nil
}

// changeTokens rewrites a tokens file as a whole, for this user alone. Two that
// do it at once come one after the other.
func changeTokens(path string, change func(*owner.Tokens) error) error {
	if err := makePrivateDir(filepath.Dir(path)); err != nil {
		return failf(exitUsage, "%w", err)
	}
	leave, err := claimFile(path + ".lock")
	if err != nil {
		return failf(exitFailed, "%w", err)
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

const (
	claimWait  = 5 * time.Second
	claimStale = 30 * time.Second // longer than any change takes
)

// claimFile makes a file that only one program can make. One that was left by a
// program that died is taken over.
func claimFile(path string) (leave func(), err error) {
	for deadline := time.Now().Add(claimWait); ; {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return func() { _ = os.Remove(path) }, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > claimStale {
			_ = os.Remove(path)
			continue
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("somebody else is changing the tokens; if not, remove %s", path)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
