package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	client "signalbox/client/acop"
	"signalbox/model/acop"
	"signalbox/model/text"
)

// Differences of the clocks: the first is more than the seconds of HTTP's Date can
// hide, from the second on leases and deadlines on the screen mislead.
const (
	clockNote = 5 * time.Second
	clockBad  = time.Minute
)

// checkOwner looks at the owner that would be used, then at who we are to it.
func (d *doctor) checkOwner(ctx context.Context) {
	base, ok := d.ownerBase(ctx)
	if !ok {
		return
	}
	h, err := askHealth(ctx, base)
	var (
		authority x509.UnknownAuthorityError
		untrusted *tls.CertificateVerificationError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		d.fail("owner", "have this machine trust its authority, for example with SSL_CERT_FILE=ca.pem", "the certificate of %s is signed by an authority that is not known here", base)
		return
	case errors.As(err, &untrusted):
		d.fail("owner", "give the name that stands in it, renew it, or set this machine's clock", "the certificate of %s is not good: %s", base, text.Line(untrusted.Err.Error()))
		return
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		d.fail("owner", "begin the address with http://", "what answers at %s does not speak TLS", base)
		return
	case errors.Is(err, io.EOF) && strings.HasPrefix(base, "http://"):
		d.fail("owner", "begin the address with https:// if the owner speaks TLS", "the owner at %s ends the connection before it answers", base)
		return
	case err != nil:
		d.fail("owner", "check the address, or start it there with `signalbox serve`", "the owner at %s does not answer: %s", base, whyNot(err))
		return
	}
	switch {
	case h.Protocol != "" && h.Protocol != acop.ProtocolVersion:
		d.fail("owner", "use builds of the same age on both sides", "the owner at %s speaks %s, and this program %s", base, h.Protocol, acop.ProtocolVersion)
	case h.status >= http.StatusInternalServerError:
		d.fail("owner", "look into its log", "the owner at %s is not well: HTTP %d", base, h.status)
	default:
		d.ok("owner", "%s answers in %s", base, h.took.Round(100*time.Microsecond))
	}
	d.checkVersion(h)
	d.checkClock(h)
	d.checkToken(ctx)
}

// ownerBase is the owner that is meant; ok is false when there is none to look at,
// which has then been said.
func (d *doctor) ownerBase(ctx context.Context) (base string, ok bool) {
	if named := d.g.namedServer(); named != "" {
		base, err := ownerBase(named)
		if err != nil {
			d.fail("owner", "correct --server or SIGNALBOX_SERVER", "%s", err)
		}
		return base, err == nil
	}
	b, err := readBox(d.g.localData())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok("owner", "no --server is given and no local box runs; `signalbox` opens it")
		return "", false
	case err != nil:
		return "", false // said with the state
	case !answers(ctx, b.URL):
		d.fail("owner", "start `signalbox` or `signalbox serve` again; its state is kept",
			"the local box is down: process %d does not answer at %s", b.PID, b.URL)
		return "", false
	}
	return b.URL, true
}

// health is what an owner says of itself at /healthz, and when.
type health struct {
	Protocol string `json:"protocol_version"`
	Version  string `json:"version"`

	status int
	date   time.Time     // zero: not told
	asked  time.Time     // the middle between question and answer, by our clock
	took   time.Duration // from question to answer
}

// maxHealth bounds what is read of an answer, in bytes.
const maxHealth = 64 << 10

// askHealth asks the owner at base. An owner of another make need not have the page:
// any answer of HTTP shows that somebody is there, and what time it is.
func askHealth(ctx context.Context, base string) (health, error) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	root := strings.TrimSuffix(strings.TrimSuffix(base, "/"), "/acop/v1")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+"/healthz", nil)
	if err != nil {
		return health{}, err
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	start := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		return health{}, err
	}
	defer resp.Body.Close()
	h := health{status: resp.StatusCode, took: time.Since(start)}
	h.asked = start.Add(h.took / 2)
	if raw, err := io.ReadAll(io.LimitReader(resp.Body, maxHealth)); err == nil && resp.StatusCode == http.StatusOK {
		_ = json.Unmarshal(raw, &h) // what it does not say is judged as not said
	}
	h.date, _ = http.ParseTime(resp.Header.Get("Date"))
	return h, nil
}

// whyNot is the failure of a request in few words, without the URL, which is said.
func whyNot(err error) string {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + doctorPatience.String()
	case errors.As(err, &op):
		err = op.Err
	}
	var se *os.SyscallError
	if errors.As(err, &se) {
		err = se.Err
	}
	return text.Line(err.Error())
}

// checkVersion compares the builds. Where one of them has no number nothing can be
// said; an owner that tells none is older than the telling.
func (d *doctor) checkVersion(h health) {
	mine, theirs := number(build().Version), number(h.Version)
	switch {
	case h.Version == "" && h.Protocol == "":
		d.ok("version", "the owner is of another make and tells no version")
	case h.Version == "":
		d.warn("version", "start it with this program", "the owner tells no version: it is older than this program")
	case h.Version == build().Version:
		d.ok("version", "the owner is of the same version, %s", h.Version)
	case mine == "" || theirs == "":
		d.ok("version", "the owner is %s and this program %s, which cannot be compared", h.Version, build().Version)
	case semver.Compare(theirs, mine) == 0:
		d.ok("version", "the owner is of the same version, %s", h.Version)
	default:
		d.differ(h.Version, theirs, mine)
	}
}

// differ judges two versions that are not the same: apart by a release that may
// break what was, they do not go together.
func (d *doctor) differ(said, theirs, mine string) {
	bad := d.warn
	if semver.Major(theirs) != semver.Major(mine) ||
		semver.Major(mine) == "v0" && semver.MajorMinor(theirs) != semver.MajorMinor(mine) {
		bad = d.fail
	}
	if semver.Compare(theirs, mine) < 0 {
		bad("version", "stop the owner and start it with this program; its state is kept", "the owner is %s, older than this program, %s", said, build().Version)
		return
	}
	bad("version", "bring this program to the owner's version", "the owner is %s, newer than this program, %s", said, build().Version)
}

// number is a version as package semver takes it; "" for none.
func number(version string) string {
	if v := "v" + strings.TrimPrefix(version, "v"); semver.IsValid(v) {
		return v
	}
	return ""
}

// checkClock compares the clocks: the owner's alone decides when a lease ends.
func (d *doctor) checkClock(h health) {
	if h.date.IsZero() {
		d.warn("clock", "compare the clocks of both machines by hand", "the owner does not tell the time")
		return
	}
	off := h.date.Sub(h.asked)
	apart, which := off.Abs(), "behind"
	if off > 0 {
		which = "ahead of"
	}
	const remedy = "set both by NTP, for example `timedatectl set-ntp true`"
	const words = "the owner's clock is %s %s this machine's; leases, deadlines and ages are shown wrong by that"
	switch apart -= h.took / 2; {
	case apart >= clockBad:
		d.fail("clock", remedy, words, apart.Round(time.Second), which)
	case apart >= clockNote:
		d.warn("clock", remedy, words, apart.Round(time.Second), which)
	default:
		d.ok("clock", "the owner's clock agrees")
	}
}

// checkToken asks the owner who we are.
func (d *doctor) checkToken(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	const remedy = "give --token-file, SIGNALBOX_TOKEN_FILE or ACOP_BACKEND_BEARER_TOKEN; `signalbox token add NAME --role lead` makes one where the owner runs"
	t, err := d.g.findOwner(ctx)
	if err != nil {
		var none noTokenError
		if errors.As(err, &none) { // what to give is in the remedy
			err = none
		}
		d.fail("token", remedy, "%s", err)
		return
	}
	c, err := client.New(client.Options{BaseURL: t.URL, Token: t.Token, Patience: -1})
	if err != nil {
		d.fail("owner", "correct --server or SIGNALBOX_SERVER", "%s", err)
		return
	}
	defer c.Close()
	who, err := c.Identity(ctx)
	var e *acop.Error
	switch {
	case err == nil:
		d.ok("token", "the owner knows this token as %s", text.ID(who))
	case errors.As(err, &e) && e.Code == acop.CodeUnauthenticated:
		d.fail("token", remedy, "the owner at %s does not know this token", t.URL)
	case errors.As(err, &e) && e.Code == acop.CodeForbidden:
		d.fail("token", remedy, "the owner at %s does not let this token read", t.URL)
	default:
		d.fail("token", "check that --server names an owner of ACOP 1.x", "the token could not be tried: %s", err)
	}
	if file := d.g.namedTokenFile(); file != "" {
		d.private(file)
	}
}
