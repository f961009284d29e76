package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"signalbox/model/acop"
	"signalbox/model/text"
)

// usableOut refuses a file for a token that could not be written, or that is the list of
// tokens itself. Nothing is made to find out.
func usableOut(out, list string) error {
	if out == "" {
		return nil
	}
	info, err := os.Stat(out)
	if err == nil {
		if l, listErr := os.Stat(list); listErr == nil && os.SameFile(info, l) {
			return errors.New("this is the list of who may come in; name another file for the token")
		}
		if !info.Mode().IsRegular() {
			return errors.New("it is there and no file; name another one")
		}
	}
	dir := filepath.Dir(out)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("there is no folder %s; make it first", dir)
	}
	return mayWrite(dir)
}

// keepToken writes a token to a file that its owner alone can read; one that is there is
// replaced.
func keepToken(out, token string) error {
	err := writePrivate(out, []byte(token+"\n"))
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return fmt.Errorf("no token was made, for it cannot be written to %s: %w", out, err)
	}
	return nil
}

// tellToken prints the token, or where it is, and to whom it belongs.
func (g *globals) tellToken(identity string, role acop.Role, token, out string) error {
	if g.json {
		answer := map[string]any{"identity": identity, "role": role, "token": token}
		if out != "" {
			delete(answer, "token")
			answer["token_file"] = out
		}
		return stdoutError(json.NewEncoder(g.sys.Stdout).Encode(answer))
	}
	where := "this token is not shown again"
	if out != "" {
		where = "the token is in " + text.Line(out)
	} else if err := printed(fmt.Fprintln(g.sys.Stdout, token)); err != nil {
		return err
	}
	fmt.Fprintf(g.sys.Stderr, "%s may come in as %s; %s\n", text.ID(identity), role, where)
	if f, isFile := g.sys.Stdout.(*os.File); isFile && out == "" {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && openToOthers(info) {
			fmt.Fprintln(g.sys.Stderr, "other users can read the file that it went into: set its mode to 0600, or use --out FILE the next time")
		}
	}
	return nil
}
