package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/charmbracelet/x/term"

	"signalbox/model/text"
	"signalbox/server/store"
)

// checkConfig reads the configuration as the dashboard would.
func (d *doctor) checkConfig() {
	const remedy = "correct it; `signalbox config check` reads it again, `signalbox config init` writes a right one"
	c, err := d.g.loadConfig()
	switch {
	case err != nil:
		d.fail("config", remedy, "%s", err)
	case c.path == "":
		d.ok("config", "there is no %s; the defaults hold", d.g.defaultConfig())
	default:
		d.ok("config", "%s is right: %s", c.path, plural(len(c.Providers), "provider", "providers"))
	}
}

// checkState looks at the folders that the program keeps, and at the owner's log.
func (d *doctor) checkState(ctx context.Context) {
	if !d.checkFolder(d.g.stateDir(), "set XDG_STATE_HOME to a folder you may write to") {
		return
	}
	if d.data != d.g.localData() && !d.checkFolder(d.data, "name another with --data") {
		return
	}
	if _, err := readBox(d.data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.fail("state", "the next start writes it anew", "%s", err)
		return
	}
	if list := tokensFile(d.data); d.private(list) {
		t, err := tokensIn(list)
		if err != nil {
			d.fail("state", "correct the file or put it aside; an owner that starts without one makes a new lead's token", "the tokens cannot be read: %s", err)
			return
		}
		for _, who := range t.Short() {
			d.warn("state", "`signalbox token revoke`, then `signalbox token add`", "the token of %s is so short that it can be guessed", text.ID(who))
		}
	}
	d.private(leadTokenFile(d.data))
	d.checkLog(ctx)
}

// checkFolder reports whether dir is there and usable. One that is missing is well
// where it could be made, and is looked at no further.
func (d *doctor) checkFolder(dir, otherwise string) bool {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.checkMissing(dir, otherwise)
	case err != nil:
		d.fail("state", "make it readable for this user, or "+otherwise, "%s cannot be read: %s", dir, pathless(err))
		return false
	case !info.IsDir():
		d.fail("state", "move the file away, or "+otherwise, "%s is a file where a folder is needed", dir)
		return false
	}
	if _, err := os.ReadDir(dir); err != nil {
		d.fail("state", fmt.Sprintf("`chmod 700 %s` as its owner, or %s", dir, otherwise), "%s cannot be read: %s", dir, pathless(err))
		return false
	}
	if err := mayWrite(dir); err != nil {
		d.fail("state", fmt.Sprintf("`chmod 700 %s` as its owner, or %s", dir, otherwise), "%s cannot be written to: %s", dir, err)
		return false
	}
	if openToOthers(info) {
		d.warn("state", "`chmod 700 "+dir+"`", "other users can look into %s", dir)
	}
	return true
}

// checkMissing judges the nearest folder that is there. It always reports false.
func (d *doctor) checkMissing(dir, otherwise string) bool {
	above := filepath.Dir(dir)
	for {
		info, err := os.Stat(above)
		if err == nil && info.IsDir() {
			break
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			d.fail("state", "move it away, or "+otherwise, "%s cannot be made: %s is no folder that can be used", dir, above)
			return false
		}
		if filepath.Dir(above) == above {
			break
		}
		above = filepath.Dir(above)
	}
	if err := mayWrite(above); err != nil {
		d.fail("state", "make it writable for this user, or "+otherwise, "%s cannot be made in %s: %s", dir, above, err)
		return false
	}
	d.ok("state", "nothing is in %s yet; the first start makes it", dir)
	return false
}

// private warns of a file with secrets that others can read, and reports whether
// the file is there.
func (d *doctor) private(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	if openToOthers(info) {
		d.warn("state", "`chmod 600 "+path+"`", "other users can read %s", path)
	}
	return true
}

// openToOthers reports whether other users may do anything with a file, where the
// system's mode tells it.
func openToOthers(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

func (d *doctor) checkLog(ctx context.Context) {
	last, err := store.Check(ctx, filepath.Join(d.data, "log"))
	var used *store.ErrInUse
	var damage *store.DamageError
	switch {
	case err == nil:
		d.ok("state", "the log in %s is whole, up to revision %d", d.data, last)
	case errors.As(err, &used):
		d.ok("state", "the log in %s is in use by process %d", d.data, used.PID)
	case errors.Is(err, store.ErrNoLog):
		d.ok("state", "there is no log in %s yet; the first start makes it", d.data)
	case errors.As(err, &damage):
		d.fail("state", "nothing was changed", "%s", err)
	default:
		d.fail("state", "make it readable for this user, or put it aside and start anew", "the log in %s cannot be read: %s", d.data, err)
	}
}

// pathless is the reason of a failure whose path is said already.
func pathless(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// checkPort tries the address of --listen, and the one at which the local box was
// served last: who knew it finds the box there again, or not.
func (d *doctor) checkPort(ctx context.Context) {
	running := ""
	if b, err := readBox(d.data); err == nil && answers(ctx, b.URL) {
		if u, err := url.Parse(b.URL); err == nil {
			running = u.Host
		}
	}
	if d.listen != "" {
		switch err := d.tryListen(ctx, d.listen); {
		case d.listen == running:
			d.ok("port", "the box itself listens on %s", d.listen)
		case err != nil:
			d.fail("port", d.whoListens(ctx), "%s", err)
		default:
			d.ok("port", "%s is free", d.listen)
		}
	}
	raw, err := os.ReadFile(filepath.Join(d.data, addressFile))
	usual := strings.TrimSpace(string(raw))
	if err != nil || running != "" || usual == d.listen || checkListen(usual) != nil {
		return
	}
	if d.tryListen(ctx, usual) != nil {
		d.warn("port", "end that program, or tell whoever knew the old address the new one",
			"the local box was served at %s, and another program listens there now; the next start takes another port", usual)
	}
}

func (d *doctor) tryListen(ctx context.Context, address string) error {
	l, err := listen(ctx, address)
	if err != nil {
		return err
	}
	return l.Close()
}

// whoListens says what to do about a taken address.
func (d *doctor) whoListens(ctx context.Context) string {
	if answers(ctx, "http://"+d.listen+"/acop/v1/") {
		return "an owner of ACOP answers there: use it with --server http://" + d.listen
	}
	return "or end the program that has it"
}

// Size below which the dashboard draws nothing but a request for room.
const leastWidth, leastHeight = 60, 16

// checkTerminal looks at what the dashboard would be drawn on. Without a terminal
// it warns only: everything but the dashboard works.
func (d *doctor) checkTerminal() {
	const where = "the dashboard needs a terminal: run it in one, without a pipe; elsewhere use `signalbox serve`, `signalbox work` or `signalbox invoke`"
	in, inOK := d.g.sys.Stdin.(*os.File)
	out, outOK := d.g.sys.Stdout.(*os.File)
	var missing []string
	if !inOK || !term.IsTerminal(in.Fd()) {
		missing = append(missing, "input")
	}
	if !outOK || !term.IsTerminal(out.Fd()) {
		missing = append(missing, "output")
	}
	bad := d.fail
	if len(missing) > 0 {
		bad = d.warn
		d.warn("terminal", where, "standard %s %s no terminal", strings.Join(missing, " and "), map[bool]string{true: "is", false: "are"}[len(missing) == 1])
	}
	switch t := d.g.sys.Env("TERM"); t {
	case "":
		bad("terminal", "set it to what your terminal is, for example `export TERM=xterm-256color`", "TERM is not set")
	case "dumb":
		bad("terminal", "set TERM to what your terminal is, for example `export TERM=xterm-256color`", "TERM is dumb: text cannot be placed on such a terminal")
	default:
		if len(missing) == 0 {
			d.checkSize(out, t)
		}
	}
	if l := firstOf(d.g.sys.Env("LC_ALL"), d.g.sys.Env("LC_CTYPE"), d.g.sys.Env("LANG")); l != "" && !isUTF8(l) {
		d.warn("terminal", "use --ascii, or set LANG to a UTF-8 locale such as C.UTF-8", "the locale %s is not UTF-8: lines and signs may be garbled", l)
	}
}

func (d *doctor) checkSize(out *os.File, name string) {
	w, h, err := term.GetSize(out.Fd())
	switch {
	case err != nil || w == 0 || h == 0:
		d.warn("terminal", "`stty size` should tell it", "%s does not tell its size", name)
	case w < leastWidth || h < leastHeight:
		d.warn("terminal", fmt.Sprintf("make it %dx%d at least", leastWidth, leastHeight), "%s has %dx%d cells, which is too small for the dashboard", name, w, h)
	default:
		d.ok("terminal", "%s, %dx%d cells", name, w, h)
	}
}

// isUTF8 reports whether the name of a locale says that it is UTF-8.
func isUTF8(locale string) bool {
	l := strings.ToLower(locale)
	return strings.Contains(l, "utf-8") || strings.Contains(l, "utf8")
}
