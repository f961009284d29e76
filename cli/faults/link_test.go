package faults

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The faults a link may have.
type faults struct {
	drip    bool // every byte is its own write
	split   bool // writes of random length
	delay   bool // now and then some ms
	repeat  bool // messages come twice
	reorder bool // chunks overtake each other
	cuts    int  // connections that break somewhere
}

// dice is a seeded source that several goroutines may use.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice(seed uint64) *dice { return &dice{r: rand.New(rand.NewPCG(seed, 7))} }

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
				return done, errCut
			}
			m.left -= n
		}
		k, err := m.w.Write(b[done : done+n])
		if done += k; err != nil {
			return done, err
		}
		if m.flush != nil {
			m.flush()
		}
		if m.f.delay && m.d.n(20) == 0 {
			<-time.After(time.Duration(m.d.n(3)) * time.Millisecond)
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
	if _, err := s.out.Write(b); err != nil {
		return err
	}
	if s.f.repeat && s.d.n(3) == 0 {
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
func eventProxy(t *testing.T, target string, f faults, seed uint64) string {
	t.Helper()
	d, cuts := newDice(seed), &cutter{left: f.cuts}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	})
	return srv.URL
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
func tcpProxy(t *testing.T, target string, f faults, seed uint64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d, cuts := newDice(seed), &cutter{left: f.cuts}
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
