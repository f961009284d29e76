package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adrg/xdg"
)

// boxFile stands beside an owner's data while the owner runs, so that other
// programs of the same user find it. It holds no secret.
const boxFile = "box.json"

// box is what boxFile says.
type box struct {
	URL string `json:"url"` // base of the owner's API, ends with /
	PID int    `json:"pid"`
	// Tokens is the tokens file whose changes the owner takes over.
	Tokens string `json:"tokens,omitempty"`
	// Dashboard tells that the process has a screen, at which somebody may sit.
	Dashboard bool `json:"dashboard,omitempty"`
}

// stateDir is the folder under which this program keeps its state.
func (g *globals) stateDir() string {
	if dir := g.sys.Env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "signalbox")
	}
	return filepath.Join(xdg.StateHome, "signalbox")
}

// localData is the data folder of the local box's owner.
func (g *globals) localData() string { return filepath.Join(g.stateDir(), "box") }

// leadTokenFile is where an owner without --tokens leaves the lead's token.
func leadTokenFile(data string) string { return filepath.Join(data, "lead.token") }

// writeBox notes in data that this process answers as b says.
func writeBox(data string, note box) error {
	note.PID = os.Getpid()
	b, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return writePrivate(filepath.Join(data, boxFile), append(b, '\n'))
}

// removeBox takes the note away again, if it is ours.
func removeBox(data string) {
	if b, err := readBox(data); err == nil && b.PID == os.Getpid() {
		_ = os.Remove(filepath.Join(data, boxFile))
	}
}

func readBox(data string) (box, error) {
	raw, err := os.ReadFile(filepath.Join(data, boxFile))
	if err != nil {
		return box{}, err
	}
	var b box
	if err := json.Unmarshal(raw, &b); err != nil || b.URL == "" {
		return box{}, fmt.Errorf("%s does not name an owner: remove the file", filepath.Join(data, boxFile))
	}
	return b, nil
}

// localBox finds the running owner of the local box. ok is false when none
// answers there.
func localBox(ctx context.Context, g *globals) (base, tokenFile string, ok bool) {
	data := g.localData()
	b, err := readBox(data)
	if err != nil || !answers(ctx, b.URL) {
		return "", "", false
	}
	return b.URL, leadTokenFile(data), true
}

// addressFile keeps the address the local box was last served at.
const addressFile = "address"

// usualAddress is where the local box was served last, if nothing else listens
// there now: dashboards and agents that knew it then find it again after a
// restart. "" lets the system choose.
func usualAddress(ctx context.Context, data string) string {
	raw, err := os.ReadFile(filepath.Join(data, addressFile))
	if err != nil {
		return ""
	}
	address := strings.TrimSpace(string(raw))
	if !loopbackAddress(address) {
		return ""
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return ""
	}
	if l.Close() != nil {
		return ""
	}
	return address
}

// rememberAddress notes where the local box is served.
func rememberAddress(data, base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	return writePrivate(filepath.Join(data, addressFile), []byte(u.Host+"\n"))
}

// answers reports whether an owner serves at base (…/acop/v1/). One whose certificate
// is not good enough for this machine counts: who asks more of it is told so.
func answers(ctx context.Context, base string) bool {
	root := strings.TrimSuffix(base, "acop/v1/")
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return untrusted(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// untrusted reports that somebody answered and showed a certificate that is not good
// enough for this machine.
func untrusted(err error) bool {
	var ce *tls.CertificateVerificationError
	return errors.As(err, &ce)
}

// writePrivate replaces path by a file that only its owner can read. A crash
// leaves the old file or the new one, never a half.
func writePrivate(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// makePrivateDir creates dir for this user alone.
func makePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return fmt.Errorf("cannot create the folder %s: %w", dir, pe.Err)
		}
		return err
	}
	return nil
}
