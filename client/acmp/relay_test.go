package acmp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"signalbox/model/acmp"
)

// relayVar is the address to which the child of the role "relay" passes its pipes on.
const relayVar = "ACMP_TEST_RELAY"

// runRelay is the child: whatever comes on stdin goes to the test, and what the test
// answers to stdout. When the test hangs up, the child ends.
func runRelay() {
	c, err := net.Dial("tcp", os.Getenv(relayVar))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
	go func() {
		_, _ = io.Copy(c, os.Stdin)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, c)
}

// starter starts a buyer whose provider p is p of the test, over some transport.
type starter func(p *fakeProvider, change func(*Options)) (*Buyer, *recorder)

// overBoth runs one test over Streamable HTTP and over the pipes of a child process
//
func overBoth(t *testing.T, test func(t *testing.T, start starter)) {
	t.Helper()
	t.Run("http", func(t *testing.T) {
		test(t, func(p *fakeProvider, change func(*Options)) (*Buyer, *recorder) {
			return newBuyer(t, p.URL, change)
		})
	})
	t.Run("stdio", func(t *testing.T) {
		test(t, func(p *fakeProvider, change func(*Options)) (*Buyer, *recorder) {
			return newBuyer(t, "", func(o *Options) {
				exe, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				o.Providers[0].Command = []string{exe}
				o.Providers[0].Env = []string{childVar + "=relay", relayVar + "=" + p.listenLines(t)}
				if change != nil {
					change(o)
				}
			})
		})
	})
}

// listenLines lets p answer lines as it answers requests, and gives the address.
func (p *fakeProvider) listenLines(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() {
		stop()
		l.Close()
		conns.Wait()
	})
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { p.serveLines(ctx, c) })
		}
	})
	return l.Addr().String()
}

// lineWriter writes whole lines to one connection.
type lineWriter struct {
	mu sync.Mutex
	c  net.Conn
}

func (w *lineWriter) line(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = io.WriteString(w.c, strings.ReplaceAll(s, "\n", " ")+"\n")
}

// serveLines answers one life of the child.
func (p *fakeProvider) serveLines(ctx context.Context, c net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	defer cancel()
	out := &lineWriter{c: c}
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var req wireRequest
		if err := json.Unmarshal([]byte(line), &req); err != nil {
			p.t.Errorf("line %q: %v", line, err)
		}
		req.Body, req.Ctx = line, ctx
		n := p.record(req)
		w := &answerWriter{req: req, t: p.t, lines: out}
		switch {
		case req.Method == "server/discover":
			out.line(p.discovery(req))
		case req.Method == acmp.MethodInvoke:
			go func() {
				defer func() {
					if r := recover(); r != nil && r != http.ErrAbortHandler {
						panic(r)
					} else if r != nil {
						c.Close()
					}
				}()
				p.invoke(w, req, n)
			}()
		case len(req.ID) > 0:
			out.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID))
		}
	}
}
