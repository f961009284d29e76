package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// The faults a link may have.
type faults struct {
	drip    bool // every byte is its own write
	crlf    bool // lines end with CRLF, as SSE and MCP allow
	split   bool // writes of random length
	delay   bool // now and then some ms
	repeat  bool // messages come twice
	reorder bool // chunks overtake each other
	cuts    int  // connections that break somewhere
}

// tally counts what a link has done to what passed: a fault that never came to be
// proves nothing.
type tally struct {
	Splits, Delays, Repeats, Overtakes, Cuts atomic.Int64
}

// missing names the faults that a link was to have and never had. Only where whole
// messages are seen can they come twice or late.
func (f faults) missing(did *tally, messages bool) []string {
	var out []string
	for _, one := range []struct {
		name   string
		wanted bool
		did    *atomic.Int64
	}{
		{"split", f.drip || f.split, &did.Splits}, {"delay", f.delay, &did.Delays}, {"cut", f.cuts > 0, &did.Cuts},
		{"repeat", f.repeat && messages, &did.Repeats}, {"reorder", f.reorder && messages, &did.Overtakes},
	} {
		if one.wanted && one.did.Load() == 0 {
			out = append(out, one.name)
		}
	}
	return out
}

// dice is a seeded source that several goroutines may use, with what it led to.
type dice struct {
	mu  sync.Mutex
	r   *rand.Rand
	did *tally
}

func newDice(seed uint64, did *tally) *dice {
	return &dice{r: rand.New(rand.NewPCG(seed, 7)), did: did}
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

var errCut = errors.New("the link is cut")

// mangler writes bytes on, in pieces and late.
type mangler struct {
	w     io.Writer
	flush func()
	f     faults
	d     *dice
	left  int // bytes until the cut; negative = none
}

func (m *mangler) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n := len(b) - done
		switch {
		case m.f.drip:
			n = 1
		case m.f.split:
			n = min(n, 1+m.d.n(97))
		}
		if m.left >= 0 {
			if n = min(n, m.left); n == 0 {
				m.d.did.Cuts.Add(1)
				return done, errCut
			}
			m.left -= n
		}
		if done+n < len(b) {
			m.d.did.Splits.Add(1)
		}
		k, err := m.w.Write(b[done : done+n])
		if done += k; err != nil {
			return done, err
		}
		if m.flush != nil {
			m.flush()
		}
		if m.f.delay && m.d.n(20) == 0 {
			m.d.did.Delays.Add(1)
			<-time.After(time.Duration(1+m.d.n(3)) * time.Millisecond)
		}
	}
	return done, nil
}

// shuffle passes messages on, some twice and some late, but none behind a
// response, and none later than three others.
type shuffle struct {
	out  io.Writer
	f    faults
	d    *dice
	held [][]byte
}

func (s *shuffle) message(b []byte) error {
	if s.f.crlf {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	if !bytes.Contains(b, []byte(`"method":"acmp/streamChunk"`)) {
		if err := s.release(); err != nil {
			return err
		}
		_, err := s.out.Write(b)
		return err
	}
	if s.f.reorder && len(s.held) < 3 && s.d.n(3) == 0 {
		s.held = append(s.held, bytes.Clone(b))
		return nil
	}
	if len(s.held) > 0 {
		s.d.did.Overtakes.Add(1)
	}
	if _, err := s.out.Write(b); err != nil {
		return err
	}
	if s.f.repeat && s.d.n(3) == 0 {
		s.d.did.Repeats.Add(1)
		if _, err := s.out.Write(b); err != nil {
			return err
		}
	}
	if s.d.n(2) == 0 {
		return s.release()
	}
	return nil
}

func (s *shuffle) release() error {
	for len(s.held) > 0 {
		i := s.d.n(len(s.held))
		b := s.held[i]
		s.held = append(s.held[:i], s.held[i+1:]...)
		if _, err := s.out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// cutter decides which connections break.
type cutter struct {
	mu   sync.Mutex
	left int
}

func (c *cutter) take() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left--
	return c.left >= 0
}

// eventProxy stands before a provider as a server of its own and treats each
// event of its streams.
func eventProxy(t *testing.T, target string, f faults, d *dice) string {
	t.Helper()
	cuts, posts := &cutter{left: f.cuts}, &posts{target: target, f: f, d: d}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == acmp.MethodInputChunk {
			posts.pass(w, r)
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, target, r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		req.Header = r.Header.Clone()
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			if k != "Content-Length" {
				w.Header()[k] = v
			}
		}
		w.WriteHeader(resp.StatusCode)
		m := &mangler{w: w, flush: w.(http.Flusher).Flush, f: f, d: d, left: -1}
		stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
		if stream && cuts.take() {
			m.left = d.n(6000)
		}
		if !stream {
			_, _ = io.Copy(w, resp.Body)
			return
		}
		s := &shuffle{out: m, f: f, d: d}
		if err := eachMessage(resp.Body, "\n\n", s.message); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
		posts.late.Wait()
	})
	return srv.URL
}

// posts passes chunks of input on, each a request of its own: some twice, and some so
// late that others overtake them.
type posts struct {
	target string
	f      faults
	d      *dice
	late   sync.WaitGroup

	mu   sync.Mutex
	last int64 // the highest seq that has arrived
}

func (p *posts) pass(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	header, ctx := r.Header.Clone(), context.WithoutCancel(r.Context())
	if p.f.reorder && p.d.n(2) == 0 {
		wait := time.Duration(1+p.d.n(20)) * time.Millisecond
		p.late.Go(func() {
			<-time.After(wait)
			_, _ = p.send(ctx, header, body) // the sender has its answer already
		})
		w.WriteHeader(http.StatusAccepted)
		return
	}
	status, err := p.send(ctx, header, body)
	if err == nil && p.f.repeat {
		p.d.did.Repeats.Add(1)
		status, err = p.send(ctx, header, body)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}

func (p *posts) send(ctx context.Context, header http.Header, body []byte) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header = header.Clone()
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var m struct{ Params struct{ Seq int64 } }
	if err := json.Unmarshal(body, &m); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Params.Seq < p.last {
		p.d.did.Overtakes.Add(1)
	}
	p.last = max(p.last, m.Params.Seq)
	return resp.StatusCode, nil
}

// eachMessage cuts r at end, which stays with the message.
func eachMessage(r io.Reader, end string, do func([]byte) error) error {
	in := bufio.NewReader(r)
	var msg []byte
	for {
		part, err := in.ReadBytes('\n')
		msg = append(msg, part...)
		if bytes.HasSuffix(msg, []byte(end)) {
			if err := do(msg); err != nil {
				return err
			}
			msg = msg[:0]
		}
		if errors.Is(err, io.EOF) && len(msg) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// tcpProxy passes bytes on and treats those that come back.
func tcpProxy(t *testing.T, target string, f faults, d *dice) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cuts := &cutter{left: f.cuts}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { passOn(t, c, strings.TrimPrefix(target, "http://"), f, d, cuts) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return "http://" + l.Addr().String()
}

func passOn(t *testing.T, c net.Conn, target string, f faults, d *dice, cuts *cutter) {
	defer c.Close()
	up, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer up.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // the test's end ends the connection
		select {
		case <-t.Context().Done():
		case <-stop:
		}
		c.Close()
		up.Close()
	}()
	go func() {
		_, _ = io.Copy(up, c)
		up.Close()
	}()
	m := &mangler{w: c, f: f, d: d, left: -1}
	if cuts.take() {
		m.left = 200 + d.n(6000)
	}
	_, _ = io.Copy(m, up)
}
