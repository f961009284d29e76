package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patient is a doctor's call on the real binary, with folders and an environment of
// its own.
type patient struct {
	t   *testing.T
	bin string // "" = the usual build
	dir string
	env []string
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{t: t, dir: t.TempDir()}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TERM=xterm-256color", "LANG=C.UTF-8",
		"XDG_STATE_HOME=" + filepath.Join(p.dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(p.dir, "config")}
	return p
}

// data is the folder of the local box.
func (p *patient) data() string { return filepath.Join(p.dir, "state", "signalbox", "box") }

// serve runs the local box of p.
func (p *patient) serve() *served {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.data()), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return startServe(p.t, p.data())
}

func (p *patient) command(args ...string) *exec.Cmd {
	bin := p.bin
	if bin == "" {
		bin = binary(p.t)
	}
	cmd := exec.Command(bin, append([]string{"doctor"}, args...)...)
	cmd.Env = p.env
	return cmd
}

// without drops a variable of the environment.
func (p *patient) without(name string) *patient {
	var kept []string
	for _, e := range p.env {
		if !strings.HasPrefix(e, name+"=") {
			kept = append(kept, e)
		}
	}
	p.env = kept
	return p
}

// examine runs the doctor without a terminal and holds what people read against
// what scripts read.
func (p *patient) examine(args ...string) (doctorReport, int) {
	p.t.Helper()
	var out, errs strings.Builder
	cmd := p.command(append(args, "--json")...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	code := exitCode(cmd.Run())
	r := p.read(out.String(), errs.String())
	if (code == exitOK) != r.OK || (r.Failed == 0) != r.OK {
		p.t.Errorf("exit %d with %d failures", code, r.Failed)
	}
	var lines strings.Builder
	cmd = p.command(args...)
	cmd.Stdout = &lines
	if again := exitCode(cmd.Run()); again != code {
		p.t.Errorf("exit %d without --json, %d with it", again, code)
	}
	if n := strings.Count(lines.String(), "\n"); n != len(r.Checks) {
		p.t.Errorf("%d lines for %d checks:\n%s", n, len(r.Checks), lines.String())
	}
	return r, code
}

func (p *patient) read(out, errs string) doctorReport {
	p.t.Helper()
	var r doctorReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Checks) == 0 {
		p.t.Fatalf("no report: %v\n%s\n%s", err, out, errs)
	}
	return r
}

// wants demands a finding with the words, and that it names a remedy.
func (r doctorReport) wants(t *testing.T, check string, v verdict, words, remedy string) {
	t.Helper()
	for _, f := range r.Checks {
		if f.Check == check && f.Status == v && strings.Contains(f.Text, words) && strings.Contains(f.Remedy, remedy) {
			if f.Remedy == "" && v != verdictOK {
				t.Errorf("%s: %s without a remedy", check, f.Text)
			}
			return
		}
	}
	t.Errorf("no %s of %s with %q and %q in\n%+v", v, check, words, remedy, r.Checks)
}

// behind serves the owner at target with answers that change has touched.
func behind(t *testing.T, target string, change func(*http.Response) error) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = ""
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(u) },
		ModifyResponse: change,
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// TestDoctorFindsPlantedFaults plants one fault at a time: each is found, and the
// line says what to do about it.
func TestDoctorFindsPlantedFaults(t *testing.T) {
	t.Parallel()
	owner := newPatient(t)
	s := owner.serve()
	lead := leadTokenFile(owner.data())
	write := func(t *testing.T, path, content string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, plant := range map[string]func(t *testing.T, p *patient){
		"wrong token": func(t *testing.T, p *patient) {
			r, _ := p.examine("--server", s.url, "--token-file", write(t, filepath.Join(p.dir, "token"), "not-a-token-of-this-owner\n"))
			r.wants(t, "token", verdictFail, "does not know this token", "signalbox token add")
			r.wants(t, "owner", verdictOK, s.url, "")
		},
		"no token": func(t *testing.T, p *patient) {
			r, _ := p.examine("--server", s.url)
			r.wants(t, "token", verdictFail, "no token for", "SIGNALBOX_TOKEN_FILE")
			r.wants(t, "token", verdictFail, "acop/v1/", "") // what to give is in the remedy
			if all := fmt.Sprint(r); strings.Count(all, "--token-file") != 1 {
				t.Errorf("what to give stands more than once: %s", all)
			}
		},
		"http to an owner of https": func(t *testing.T, p *patient) {
			secure := httptest.NewTLSServer(nil)
			t.Cleanup(secure.Close)
			closing, err := net.Listen("tcp", "127.0.0.1:0") // as an owner of https does to who speaks no TLS
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { closing.Close() })
			go func() {
				for {
					c, err := closing.Accept()
					if err != nil {
						return
					}
					_, _ = c.Read(make([]byte, 1<<16))
					c.Close()
				}
			}()
			r, _ := p.examine("--server", "http://"+closing.Addr().String(), "--token-file", lead)
			r.wants(t, "owner", verdictFail, "ends the connection", "https://")
			r, _ = p.examine("--server", secure.URL, "--token-file", lead)
			r.wants(t, "owner", verdictFail, "not known here", "SSL_CERT_FILE")
			r, _ = p.examine("--server", strings.Replace(s.url, "http", "https", 1), "--token-file", lead)
			r.wants(t, "owner", verdictFail, "does not speak TLS", "begin the address with http://")
		},
		"owner down": func(t *testing.T, p *patient) {
			dead := httptest.NewServer(nil)
			dead.Close()
			r, _ := p.examine("--server", dead.URL, "--token-file", lead)
			r.wants(t, "owner", verdictFail, "connection refused", "signalbox serve")
		},
		"local box killed": func(t *testing.T, p *patient) {
			p.serve().stop(syscall.SIGKILL)
			r, _ := p.examine()
			r.wants(t, "owner", verdictFail, "the local box is down", "start `signalbox`")
			r.wants(t, "state", verdictOK, "is whole", "")
		},
		"clock five minutes off": func(t *testing.T, p *patient) {
			at := behind(t, s.url, func(r *http.Response) error {
				r.Header.Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
				return nil
			})
			r, _ := p.examine("--server", at, "--token-file", lead)
			r.wants(t, "clock", verdictFail, "5m", "NTP")
			r.wants(t, "clock", verdictFail, "behind this machine's", "")
			r.wants(t, "token", verdictOK, localLead, "")
		},
		"port taken": func(t *testing.T, p *patient) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			r, _ := p.examine("--listen", l.Addr().String())
			r.wants(t, "port", verdictFail, "another program does", "end the program that has it")
			write(t, filepath.Join(p.data(), addressFile), l.Addr().String())
			r, _ = p.examine()
			r.wants(t, "port", verdictWarn, "another program listens there now", "tell whoever knew the old address")
		},
		"port of an owner": func(t *testing.T, p *patient) {
			u, _ := url.Parse(s.url)
			r, _ := p.examine("--listen", u.Host)
			r.wants(t, "port", verdictFail, "another program does", "--server http://"+u.Host)
		},
		"state is a file": func(t *testing.T, p *patient) {
			write(t, filepath.Join(p.dir, "state", "signalbox"), "")
			r, _ := p.examine()
			r.wants(t, "state", verdictFail, "is a file where a folder is needed", "XDG_STATE_HOME")
		},
		"state cannot be made": func(t *testing.T, p *patient) {
			write(t, filepath.Join(p.dir, "state"), "")
			r, _ := p.examine()
			r.wants(t, "state", verdictFail, "", "XDG_STATE_HOME")
		},
		"state without rights": func(t *testing.T, p *patient) {
			if os.Getuid() == 0 {
				t.Skip("the superuser may read everything")
			}
			if err := os.MkdirAll(filepath.Join(p.dir, "state", "signalbox"), 0); err != nil {
				t.Fatal(err)
			}
			r, _ := p.examine()
			r.wants(t, "state", verdictFail, "cannot be read", "chmod 700")
		},
		"log damaged": func(t *testing.T, p *patient) {
			own := p.serve()
			put := runWith(t.Context(), "work_item_id: a\nwork_kind: repair\n", nil, "work", "put", "-", "--server", own.url, "--token-file", leadTokenFile(own.data))
			if put.code != exitOK {
				t.Fatal(put.stderr)
			}
			own.stop(syscall.SIGTERM)
			var blocks []string
			_ = filepath.WalkDir(p.data(), func(path string, _ os.DirEntry, err error) error {
				if strings.HasSuffix(path, ".blk") {
					blocks = append(blocks, path)
				}
				return err
			})
			if len(blocks) == 0 {
				t.Fatal("the log has no files")
			}
			for _, b := range blocks {
				write(t, b, "rubbish")
			}
			r, _ := p.examine()
			r.wants(t, "state", verdictFail, "damaged", "")
			r.wants(t, "state", verdictFail, "--accept-loss", "nothing was changed")
		},
		"tokens unreadable": func(t *testing.T, p *patient) {
			write(t, tokensFile(p.data()), "- {identity: a, role: boss}\n")
			r, _ := p.examine()
			r.wants(t, "state", verdictFail, "tokens cannot be read", "correct the file")
		},
		"bad config": func(t *testing.T, p *patient) {
			write(t, filepath.Join(p.dir, "config", "signalbox", "config.yaml"), "theme: dark\nthema: dark\n")
			r, _ := p.examine()
			r.wants(t, "config", verdictFail, `config.yaml:2:1: unknown field "thema"`, "signalbox config check")
		},
		"no terminal": func(t *testing.T, p *patient) {
			r, code := p.examine("--server", s.url, "--token-file", lead)
			r.wants(t, "terminal", verdictWarn, "standard input and output are no terminal", "signalbox work")
			if code != exitOK {
				t.Errorf("exit %d: everything but the dashboard works without a terminal", code)
			}
		},
		"provider without the extension": func(t *testing.T, p *patient) {
			plain := mcp.NewServer(&mcp.Implementation{Name: "plain", Version: "1"}, nil)
			h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return plain }, nil))
			t.Cleanup(h.Close)
			dead := httptest.NewServer(nil)
			dead.Close()
			good := servedProvider(t)
			p.env = append(p.env, "ACMP_BEARER_TOKEN=SECRET123")
			r, _ := p.examine("--provider", "plain="+h.URL, "--provider", "dead="+dead.URL, "--provider", "good="+good)
			r.wants(t, "provider", verdictFail, "plain at ", "ACMP provider")
			r.wants(t, "provider", verdictFail, "dead at ", "start it")
			r.wants(t, "provider", verdictOK, "good at ", "")
		},
		"provider with another token": func(t *testing.T, p *patient) {
			p.env = append(p.env, "ACMP_BEARER_TOKEN=SECRET124")
			r, _ := p.examine("--provider", "good="+servedProvider(t))
			r.wants(t, "provider", verdictFail, "refused the bearer token", "token_file")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plant(t, newPatient(t))
		})
	}
}

// inTerminal runs the doctor on a terminal of w x h cells.
func (p *patient) inTerminal(w, h uint16, args ...string) (doctorReport, int) {
	p.t.Helper()
	cmd := p.command(append(args, "--json")...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: w, Rows: h})
	if err != nil {
		p.t.Fatal(err)
	}
	defer tty.Close()
	var out strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		out.Write(buf[:n])
		if err != nil { // EIO: the other end is closed
			break
		}
	}
	code := exitCode(cmd.Wait())
	report, _, _ := strings.Cut(out.String(), "\n")
	return p.read(strings.TrimSpace(report), out.String()), code
}

// TestDoctorInATerminal: a healthy box on a terminal has nothing to mend, and what is
// wrong with the terminal is found.
func TestDoctorInATerminal(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.serve()
	if r, code := p.inTerminal(120, 40); code != exitOK || !r.OK || r.Warned > 0 {
		t.Errorf("a healthy box: exit %d, %+v", code, r)
	}
	if r, code := p.inTerminal(40, 10); code != exitOK {
		t.Errorf("a small terminal: exit %d", code)
	} else {
		r.wants(t, "terminal", verdictWarn, "40x10", "60x16")
	}
	if r, code := p.without("TERM").inTerminal(120, 40); code != exitFailed {
		t.Errorf("TERM unset: exit %d", code)
	} else {
		r.wants(t, "terminal", verdictFail, "TERM is not set", "export TERM=")
	}
	p.env = append(p.env, "TERM=dumb", "LC_ALL=C")
	r, _ := p.inTerminal(120, 40)
	r.wants(t, "terminal", verdictFail, "TERM is dumb", "export TERM=")
	r.wants(t, "terminal", verdictWarn, "the locale C is not UTF-8", "--ascii")
}

// numbered is the program as a release, with version v2.4.0.
var numbered = sync.OnceValues(func() (string, error) {
	if _, err := buildOnce(); err != nil {
		return "", err
	}
	bin := filepath.Join(builtDir, "signalbox-v2.4.0")
	out, err := exec.Command("go", "build", "-ldflags", "-X signalbox/cli.version=v2.4.0", "-o", bin, "signalbox").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return bin, nil
})

// TestDoctorComparesVersions: an owner that is older than the program is found, and
// so is one that is newer.
func TestDoctorComparesVersions(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	bin, err := numbered()
	if err != nil {
		t.Fatal(err)
	}
	owner := newPatient(t)
	s := owner.serve()
	for _, c := range []struct {
		version string
		want    verdict
		words   string
		remedy  string
	}{
		{"v1.9.0", verdictFail, "older than this program, v2.4.0", "stop the owner and start it with this program"},
		{"v2.3.9", verdictWarn, "older than this program, v2.4.0", "stop the owner"},
		{"2.4.0", verdictOK, "same version", ""},
		{"v3.0.0", verdictFail, "newer than this program", "bring this program"},
		{"development", verdictOK, "cannot be compared", ""},
		{"", verdictWarn, "tells no version", "start it with this program"},
	} {
		at := behind(t, s.url, func(r *http.Response) error {
			if r.Request.URL.Path != "/healthz" {
				return nil
			}
			body := `{"protocol_version":"acop/1.0","status":"ok","revision":1,"version":"` + c.version + `"}`
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), -1
			r.Header.Del("Content-Length")
			return nil
		})
		p := newPatient(t)
		p.bin = bin
		r, _ := p.examine("--server", at, "--token-file", leadTokenFile(owner.data()))
		r.wants(t, "version", c.want, c.words, c.remedy)
	}
}

// TestDoctorTakesNoNonsense: wrong use is told before anything is looked at.
func TestDoctorTakesNoNonsense(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, args := range [][]string{{"doctor", "now"}, {"doctor", "--listen", "nowhere"}, {"doctor", "--read-only"}} {
		if got := runWith(ctx, "", nil, args...); got.code != exitUsage || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q %q", args, got.code, got.stdout, got.stderr)
		}
	}
}
