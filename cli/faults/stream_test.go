package faults

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
)

var links = map[string]faults{
	"drip":    {drip: true, crlf: true}, // B24, B25: at every byte of a character and of CRLF
	"split":   {split: true, delay: true},
	"repeat":  {repeat: true, split: true},
	"reorder": {reorder: true, split: true},
	"cuts":    {cuts: 4, split: true},
	"all":     {cuts: 3, split: true, delay: true, repeat: true, reorder: true},
}

const seeds = 6

// check holds one finished task against what must be: the output whole and right
// after one execution, or an error with a code that says why.
func check(t *testing.T, c *caller, r *runs, id, what string) {
	t.Helper()
	evs := c.of(id)
	if err := lawful(evs); err != nil {
		t.Errorf("%s: %v: %s", what, err, kindsOf(evs))
	}
	end := evs[len(evs)-1]
	if end.Kind != acmp.EventResult {
		t.Errorf("%s: %+v after %s", what, end.Err, kindsOf(evs))
	} else if got := assembled(evs); got != longOutput(pieces) {
		t.Errorf("%s: the output is not what was sent: %d bytes of %d", what, len(got), len(longOutput(pieces)))
	}
	if r != nil && r.of(id) != 1 {
		t.Errorf("%s: ran %d times", what, r.of(id))
	}
}

// D-13, B24, B25, B41: over HTTP, whatever the link does to
// bytes and to events, the output is whole, right, and made once.
func TestHTTPLink(t *testing.T) {
	for name, f := range links {
		for proxy, through := range map[string]func(*testing.T, string, faults, *dice) string{"events": eventProxy, "bytes": tcpProxy} {
			t.Run(name+"/"+proxy, func(t *testing.T) {
				t.Parallel()
				did := &tally{}
				for seed := range uint64(seeds) {
					r := &runs{}
					c := newCaller(t, buyer.ProviderSpec{URL: through(t, serve(t, r), f, newDice(seed, did))})
					id := c.start(t, "long", "", 2*time.Minute)
					<-c.ended
					check(t, c, r, id, fmt.Sprintf("seed %d", seed))
				}
				if m := f.missing(did, proxy == "events"); m != nil {
					t.Errorf("the link never did %v", m)
				}
			})
		}
	}
}

// D-14, D-17: chunks of input come as often and in whatever order the
// link has it; the command reads them once each and in order, over a broken stream too.
func TestHTTPInput(t *testing.T) {
	for name, f := range links {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			did := &tally{}
			for seed := range uint64(seeds) {
				r := &runs{}
				c := newCaller(t, buyer.ProviderSpec{URL: eventProxy(t, serve(t, r), f, newDice(seed, did))})
				echo(t, c, seed)
			}
			if m := f.missing(did, true); m != nil {
				t.Errorf("the link never did %v", m)
			}
		})
	}
}

// echo sends the long output as input and wants it back.
func echo(t *testing.T, c *caller, seed uint64) {
	t.Helper()
	id, err := c.Invoke(t.Context(), acmp.Invocation{Provider: "p", Params: acmp.InvokeParams{
		Capability: "echo", Stream: true, InputStream: true, TimeoutMS: time.Minute.Milliseconds() * 2,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pieces {
		if err := c.Input(t.Context(), id, acmp.Text(piece(i)), i == pieces-1); err != nil {
			t.Fatalf("seed %d: input %d: %v", seed, i, err)
		}
	}
	<-c.ended
	check(t, c, nil, id, fmt.Sprintf("seed %d", seed))
}

// The same over the pipe of a child process; a cut is its death, after which it is
// not asked again, for it does not remember (A-078, D-12).
func TestStdioLink(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range links {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reports := t.TempDir()
			t.Cleanup(func() { // the last: the children have ended
				if m := f.missing(reported(t, reports), true); m != nil {
					t.Errorf("the link never did %v", m)
				}
			})
			for seed := range uint64(seeds) {
				c := newCaller(t, buyer.ProviderSpec{Command: []string{exe}, Env: []string{childVar + "=" + name + ":" + strconv.FormatUint(seed, 10), reportVar + "=" + reports}})
				id := c.start(t, "long", "", 2*time.Minute)
				<-c.ended
				what := fmt.Sprintf("seed %d", seed)
				evs := c.of(id)
				if e := evs[len(evs)-1].Err; f.cuts > 0 && e != nil {
					if !e.Local || e.Code != acmp.CodeInternal || e.Data["provider_ended"] != true || !strings.HasPrefix(longOutput(pieces), assembled(evs)) {
						t.Errorf("%s: %+v", what, e)
					}
					continue
				}
				check(t, c, nil, id, what)
				if f.cuts == 0 {
					echo(t, c, seed)
				}
			}
		})
	}
}

// reportVar names the folder in which the children say what their links did.
const reportVar = "FAULTS_REPORTS"

func reported(t *testing.T, dir string) *tally {
	t.Helper()
	all := &tally{}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Errorf("no child has reported: %v", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n := make([]int64, 5)
		if _, err := fmt.Sscan(string(raw), &n[0], &n[1], &n[2], &n[3], &n[4]); err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		for i, c := range all.counters() {
			c.Add(n[i])
		}
	}
	return all
}

func (did *tally) counters() []*atomic.Int64 {
	return []*atomic.Int64{&did.Splits, &did.Delays, &did.Repeats, &did.Overtakes, &did.Cuts}
}

// report is called by the child before it ends.
func (did *tally) report() {
	var b strings.Builder
	for _, c := range did.counters() {
		fmt.Fprintln(&b, c.Load())
	}
	_ = os.WriteFile(filepath.Join(os.Getenv(reportVar), strconv.Itoa(os.Getpid())), []byte(b.String()), 0o600) // its absence is noticed
}

// runPipe is the child: a provider whose stdout goes through the faults that
// spec, NAME:SEED, names.
func runPipe(spec string) {
	name, number, _ := strings.Cut(spec, ":")
	seed, _ := strconv.ParseUint(number, 10, 64)
	f, d := links[name], newDice(seed, &tally{})
	m := &mangler{w: os.Stdout, f: f, d: d, left: -1}
	if f.cuts > 0 {
		m.left = 2000 + d.n(6000)
	}
	p, err := newProvider(context.Background(), &runs{})
	if err != nil {
		os.Exit(1)
	}
	out := &lineShuffle{s: shuffle{out: m, f: f, d: d}}
	in := io.Reader(os.Stdin)
	if f.drip {
		in = iotest.OneByteReader(in)
	}
	_ = p.ServeStdio(context.Background(), in, out)
	d.did.report()
}

// lineShuffle cuts what is written into lines and ends the process at a cut.
type lineShuffle struct {
	s    shuffle
	line []byte
}

func (l *lineShuffle) Write(b []byte) (int, error) {
	for _, c := range b {
		l.line = append(l.line, c)
		if c != '\n' {
			continue
		}
		if err := l.s.message(l.line); err != nil {
			l.s.d.did.report()
			os.Exit(3)
		}
		l.line = l.line[:0]
	}
	return len(b), nil
}
