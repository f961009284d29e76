package faults

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	buyer "signalbox/client/acmp"
	"signalbox/model/acmp"
)

var links = map[string]faults{
	"drip":    {drip: true}, // B24, B25: at every byte of a character and of CRLF
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
		for proxy, through := range map[string]func(*testing.T, string, faults, uint64) string{"events": eventProxy, "bytes": tcpProxy} {
			t.Run(name+"/"+proxy, func(t *testing.T) {
				for seed := range uint64(seeds) {
					r := &runs{}
					c := newCaller(t, buyer.ProviderSpec{URL: through(t, serve(t, r), f, seed)})
					id := c.start(t, "long", "", 2*time.Minute)
					<-c.ended
					check(t, c, r, id, fmt.Sprintf("seed %d", seed))
				}
			})
		}
	}
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
			for seed := range uint64(seeds) {
				c := newCaller(t, buyer.ProviderSpec{Command: []string{exe}, Env: []string{childVar + "=" + name + ":" + strconv.FormatUint(seed, 10)}})
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
			}
		})
	}
}

// runPipe is the child: a provider whose stdout goes through the faults that
// spec, NAME:SEED, names.
func runPipe(spec string) {
	name, number, _ := strings.Cut(spec, ":")
	seed, _ := strconv.ParseUint(number, 10, 64)
	f, d := links[name], newDice(seed)
	m := &mangler{w: os.Stdout, f: f, d: d, left: -1}
	if f.cuts > 0 {
		m.left = 2000 + d.n(6000)
	}
	p, err := newProvider(context.Background(), &runs{})
	if err != nil {
		os.Exit(1)
	}
	out := &lineShuffle{s: shuffle{out: m, f: f, d: d}}
	_ = p.ServeStdio(context.Background(), os.Stdin, out)
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
			os.Exit(3)
		}
		l.line = l.line[:0]
	}
	return len(b), nil
}
