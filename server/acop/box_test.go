package acop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	core "signalbox/model/acop"
	"signalbox/server/store"
)

// fakeClock runs with real time, unless it is frozen, and can be moved: advance
// moves real time, step only the wall clock.
type fakeClock struct {
	mu      sync.Mutex
	frozen  bool
	start   time.Time
	shift   time.Duration
	stepped time.Duration
}

func newFakeClock() *fakeClock { return &fakeClock{start: time.Now()} }

func (c *fakeClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start.Add(c.ran() + c.stepped)
}

// ran is the time since the start, as this clock has it.
func (c *fakeClock) ran() time.Duration {
	if c.frozen {
		return c.shift
	}
	return time.Since(c.start) + c.shift
}

func (c *fakeClock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran()
}

// freeze lets time pass by advance alone.
func (c *fakeClock) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = true
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift += d
}

func (c *fakeClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stepped += d
}

// box is an owner on a real log behind a real socket.
type box struct {
	t      testing.TB
	dir    string
	opts   Options
	buffer int // of the log's subscribers; 0 = its default
	owner  *Server
	store  *store.Store
	http   *httptest.Server
	clock  *fakeClock
	tokens map[string]string
	list   *Tokens
	logged *logBuffer

	mu   sync.Mutex
	stop context.CancelFunc
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var people = map[string]core.Role{
	"worker-http": core.RoleWorker, "worker-other": core.RoleWorker, "lead-01": core.RoleLead,
	"fixture-producer": core.RoleProducer, "orch-01": core.RoleOrchestrator, "reader-01": core.RoleReader,
}

// newBox starts an owner with all roles. change may be nil.
func newBox(t testing.TB, change func(*Options)) *box {
	t.Helper()
	return newBoxWith(t, change, 0)
}

func newBoxWith(t testing.TB, change func(*Options), buffer int) *box {
	t.Helper()
	b := &box{buffer: buffer, t: t, dir: t.TempDir(), clock: newFakeClock(), tokens: make(map[string]string), list: &Tokens{}, logged: &logBuffer{}}
	for id, role := range people {
		tok, err := b.list.Add(id, role)
		if err != nil {
			t.Fatal(err)
		}
		b.tokens[id] = tok
	}
	b.opts = Options{Tokens: b.list, Clock: b.clock, Log: slog.New(slog.NewTextHandler(b.logged, nil)), SweepEvery: 20 * time.Millisecond}
	if change != nil {
		change(&b.opts)
	}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *box) open() {
	b.t.Helper()
	st, err := store.Open(context.Background(), store.Options{Dir: b.dir, Log: b.opts.Log, EventBuffer: b.buffer})
	if err != nil {
		b.t.Fatal(err)
	}
	o := b.opts
	o.Store = st
	srv, err := New(o)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.store, b.owner, b.stop = st, srv, cancel
	go srv.Run(ctx)
	b.http = httptest.NewUnstartedServer(srv.Handler())
	if b.buffer > 0 {
		b.http.Listener = narrow{b.http.Listener}
	}
	b.http.Listener = Listener(b.http.Listener)
	b.http.Config.MaxHeaderBytes = 64 << 10
	b.http.Start()
}

// narrow keeps the kernel from taking much for a reader that does not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, isTCP := c.(*net.TCPConn); isTCP {
		err = errors.Join(err, tcp.SetWriteBuffer(4096))
	}
	return c, err
}

func (b *box) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store == nil {
		return
	}
	b.owner.Close()
	b.http.Close()
	b.stop()
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
	b.store = nil
}

// restart closes the owner and opens it again on the same folder.
func (b *box) restart() {
	b.close()
	b.open()
}

// reply is one answer of the owner.
type reply struct {
	status int
	header http.Header
	body   map[string]any
	raw    []byte
}

// at reads a member by a dotted path, nil if it is not there.
func (r reply) at(path string) any {
	var v any = r.body
	for _, k := range strings.Split(path, ".") {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil
		}
		v = m[k]
	}
	return v
}

func (r reply) text(path string) string { s, _ := r.at(path).(string); return s }
func (r reply) code() string            { return r.text("error.code") }

type header map[string]string

// do sends one request as somebody and checks what must hold for every answer.
func (b *box) do(method, path, who string, body any, hs ...header) reply {
	b.t.Helper()
	r, err := b.try(method, path, who, body, hs...)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *box) try(method, path, who string, body any, hs ...header) (reply, error) {
	var rd io.Reader
	switch v := body.(type) {
	case nil:
	case string:
		rd = strings.NewReader(v)
	case []byte:
		rd = bytes.NewReader(v)
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return reply{}, err
		}
		rd = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, b.http.URL+DefaultBasePath+path, rd)
	if err != nil {
		return reply{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+b.tokens[who])
	}
	for _, h := range hs {
		for k, v := range h {
			req.Header.Set(k, v)
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	return b.checked(method, path, resp, raw)
}

type m = map[string]any

// body adds the protocol version to the members of a request.
func body(members m) m {
	out := m{"protocol_version": core.ProtocolVersion}
	for k, v := range members {
		out[k] = v
	}
	return out
}

func workItem(id string, more m) m {
	w := m{"work_item_id": id, "protocol_version": core.ProtocolVersion, "work_kind": "implement", "created_at_utc": "2026-05-16T19:10:00Z",
		"producer": "fixture-producer", "status": "ready", "priority": "high", "actionability_score": 0.5}
	for k, v := range more {
		w[k] = v
	}
	return w
}

// put stores an item as the lead; more are members of the document.
func (b *box) put(id string, item, more m) reply {
	b.t.Helper()
	doc := m{"work_item": workItem(id, item)}
	for k, v := range more {
		doc[k] = v
	}
	r := b.do("PUT", "work-items", "lead-01", body(doc))
	if r.status != 201 && r.status != 200 {
		b.t.Fatalf("put %s: %d %s", id, r.status, r.raw)
	}
	return r
}

func claimBody(item, worker string, ttl int) m {
	return body(m{"work_item_id": item, "worker_agent_uid": worker, "requested_ttl_seconds": ttl, "scope": "owned_paths"})
}

// claim claims an item for a worker and returns the claim's id.
func (b *box) claim(item, worker string, ttl int) string {
	b.t.Helper()
	r := b.do("POST", "claims", worker, claimBody(item, worker, ttl))
	b.want(r, 201, "")
	return r.text("claim.claim_id")
}

func (b *box) want(r reply, status int, code string) {
	b.t.Helper()
	if r.status != status || r.code() != code {
		b.t.Fatalf("got %d %q, want %d %q: %s", r.status, r.code(), status, code, r.raw)
	}
}

// item reads the whole item.
func (b *box) item(id string) reply {
	b.t.Helper()
	r := b.do("GET", "work-items/"+escaped(id), "reader-01", nil)
	b.want(r, 200, "")
	return r
}

func (b *box) status(id string) string { b.t.Helper(); return b.item(id).text("item.work_item.status") }

// escaped is an id as one path segment; "." and ".." must not stand there raw.
func escaped(id string) string {
	if id == "." || id == ".." {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}

// verb posts an extension or core verb on an object.
func (b *box) verb(kind, id, verb, who string, members m, hs ...header) reply {
	b.t.Helper()
	return b.do("POST", kind+"/"+escaped(id)+"/"+verb, who, body(members), hs...)
}

// eventually polls until f holds, for things that happen in the background.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen in time: %s", what)
		}
		tick := time.NewTimer(5 * time.Millisecond)
		<-tick.C
	}
}
