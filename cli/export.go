package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// saveExport keeps what the person exported.
func (g *globals) saveExport(name string, content []byte) (string, error) {
	return g.saveFrom(name, bytes.NewReader(content))
}

// saveFrom keeps an export of any length in a file of its own, for this user
// alone; a name is never used twice.
func (g *globals) saveFrom(name string, content io.Reader) (string, error) {
	dir := filepath.Join(g.stateDir(), "exports")
	if err := makePrivateDir(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, time.Now().UTC().Format("20060102-150405.000-")+filepath.Base(name))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path) // half an export is worse than none
		return "", err
	}
	return path, nil
}

// lacksClipboard reports whether the terminal is known to ignore OSC 52.
func (g *globals) lacksClipboard() bool {
	return g.sys.Env("TERM") == "linux" || g.sys.Env("TERM_PROGRAM") == "Apple_Terminal"
}
