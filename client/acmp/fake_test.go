package acmp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"signalbox/model/acmp"
)

// fakeProvider is a server that speaks raw MCP and lets a test write every byte
// of the answer to acmp/invoke.
type fakeProvider struct {
	*httptest.Server
	t        testing.TB
	settings string // JSON of the ACMP extension; "" = none
	// invoke answers one acmp/invoke; n counts them from 1.
	invoke func(w *answerWriter, req wireRequest, n int)
	// other, where set, may answer any other request; false leaves it alone.
	other func(w *answerWriter, req wireRequest) bool

	mu       sync.Mutex
	requests []wireRequest
	forget   bool // keep no requests
	status   int  // when not 0, every POST is answered with it
	changed  chan struct{}
}

type wireRequest struct {
	Method string          `json:"method"`
	ID     json.RawMessage `json:"id"`
	Params json.RawMessage `json:"params"`
	Header http.Header     `json:"-"`
	Body   string          `json:"-"`
	Ctx    context.Context `json:"-"`
}

func (r wireRequest) taskID() string {
	var p struct {
		TaskID string `json:"task_id"`
	}
	_ = json.Unmarshal(r.Params, &p)
	return p.TaskID
}

func (r wireRequest) capability() string {
	var p struct {
		Capability string `json:"capability"`
	}
	_ = json.Unmarshal(r.Params, &p)
	return p.Capability
}

const fullSettings = `{"version":"0.1.0","role":"provider",
	"accepts":["acmp/invoke","acmp/cancel","acmp/inputChunk"],"emits":["acmp/streamChunk","acmp/heartbeat"],
	"features":{"output_streaming":true,"input_streaming":true%s}}`

// newFakeProvider starts a provider with all features; intervalMS 0 advertises
// no heartbeats.
func newFakeProvider(t testing.TB, intervalMS int, invoke func(*answerWriter, wireRequest, int)) *fakeProvider {
	t.Helper()
	p := &fakeProvider{t: t, settings: settingsJSON(intervalMS), invoke: invoke, changed: make(chan struct{}, 1)}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func settingsJSON(intervalMS int) string {
	hb := ""
	if intervalMS > 0 {
		hb = fmt.Sprintf(`,"heartbeat_interval_ms":%d`, intervalMS)
	}
	return fmt.Sprintf(fullSettings, hb)
}

func (p *fakeProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var req wireRequest
	_ = json.Unmarshal(body, &req)
	req.Header, req.Body, req.Ctx = r.Header, string(body), r.Context()
	n := p.record(req)
	p.mu.Lock()
	status := p.status
	p.mu.Unlock()
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case status != 0:
		w.WriteHeader(status)
	case req.Method == "server/discover":
		p.discover(w, req)
	case req.Method == acmp.MethodInvoke:
		p.invoke(&answerWriter{ResponseWriter: w, req: req, t: p.t}, req, n)
	case p.other != nil && p.other(&answerWriter{ResponseWriter: w, req: req, t: p.t}, req):
	case len(req.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
	}
}

// record notes req and gives how many invokes have come.
func (p *fakeProvider) record(req wireRequest) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.forget {
		p.requests = append(p.requests, req)
	}
	for _, q := range p.requests {
		if q.Method == acmp.MethodInvoke {
			n++
		}
	}
	token(p.changed)
	return n
}

func (p *fakeProvider) discover(w http.ResponseWriter, req wireRequest) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, p.discovery(req))
}

// discovery is the answer to server/discover.
func (p *fakeProvider) discovery(req wireRequest) string {
	ext := ""
	if p.settings != "" {
		ext = `"extensions":{"org.a2agora/acmp":` + p.settings + `}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],
		"capabilities":{%s},"ttlMs":0,"cacheScope":"private"}}`, req.ID, ext)
}

// seen gives the requests of one method so far.
func (p *fakeProvider) seen(method string) []wireRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []wireRequest
	for _, r := range p.requests {
		if r.Method == method {
			out = append(out, r)
		}
	}
	return out
}

// all gives every request so far.
func (p *fakeProvider) all() []wireRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

func (p *fakeProvider) setStatus(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = code
}

// awaitRequest waits until method has come n times.
func (p *fakeProvider) awaitRequest(method string, n int) []wireRequest {
	p.t.Helper()
	var got []wireRequest
	eventually(p.t, func() bool { got = p.seen(method); return len(got) >= n }, method+" to arrive")
	return got
}

// answerWriter writes the answer to one invoke.
type answerWriter struct {
	http.ResponseWriter
	req     wireRequest
	t       testing.TB
	started bool
	lines   *lineWriter // on stdio
}

// raw writes bytes of an event stream, which there is on HTTP only.
func (w *answerWriter) raw(s string) {
	if !w.started {
		w.started = true
		w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = io.WriteString(w.ResponseWriter, s)
	w.ResponseWriter.(http.Flusher).Flush()
}

func (w *answerWriter) event(s string) {
	if w.lines != nil {
		w.lines.line(s)
		return
	}
	w.raw("event: message\ndata: " + s + "\n\n")
}

func (w *answerWriter) chunk(seq int, text string, final bool) {
	w.event(chunkJSON(w.req.taskID(), seq, text, final))
}

func chunkJSON(taskID string, seq int, text string, final bool) string {
	data, _ := json.Marshal(text)
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":%q,"seq":%d,"chunk":{"type":"text","data":%s},"final":%t}}`,
		taskID, seq, data, final)
}

func (w *answerWriter) heartbeat(extra string) {
	w.event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"acmp/heartbeat","params":{"task_id":%q%s}}`, w.req.taskID(), extra))
}

// result ends the stream; members override or extend the usual ones.
func (w *answerWriter) result(members string) { w.event(w.resultJSON(members)) }

func (w *answerWriter) streamed() { w.result(`"output_streamed":true`) }

func (w *answerWriter) output(text string) {
	data, _ := json.Marshal(text)
	w.result(`"output":{"type":"text","data":` + string(data) + `}`)
}

func (w *answerWriter) resultJSON(members string) string {
	base := map[string]json.RawMessage{}
	_ = json.Unmarshal(fmt.Appendf(nil, `{"resultType":"complete","task_id":%q,"tokens_used":0,"cost_cu":0}`, w.req.taskID()), &base)
	over := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte("{"+members+"}"), &over); err != nil {
		w.t.Errorf("test result: %v", err)
	}
	for k, v := range over {
		base[k] = v
		if string(v) == `"-"` {
			delete(base, k)
		}
	}
	b, _ := json.Marshal(base)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, w.req.ID, b)
}

func (w *answerWriter) fail(code int, data string) {
	w.event(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"m","data":%s}}`, w.req.ID, code, data))
}

// hang holds the stream open until the client goes or the test ends.
func (w *answerWriter) hang() {
	if w.lines == nil {
		w.raw("") // headers
	}
	select {
	case <-w.req.Ctx.Done():
	case <-w.t.Context().Done():
	}
}

// cut breaks the connection without an end of the chunked body.
func (w *answerWriter) cut() { panic(http.ErrAbortHandler) }

// recorder collects the events of a buyer.
type recorder struct {
	mu     sync.Mutex
	events []acmp.TaskEvent
	seen   []acmp.Provider
}

func (r *recorder) event(ev acmp.TaskEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

func (r *recorder) provider(p acmp.Provider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, p)
}

func (r *recorder) of(taskID string) []acmp.TaskEvent {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []acmp.TaskEvent
	for _, ev := range r.events {
		if ev.TaskID == taskID {
			out = append(out, ev)
		}
	}
	return out
}

func (r *recorder) lastProvider() acmp.Provider {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) == 0 {
		return acmp.Provider{}
	}
	return r.seen[len(r.seen)-1]
}

// await waits until an event of kind has come and gives all so far.
func (r *recorder) await(t *testing.T, taskID string, kinds ...acmp.EventKind) []acmp.TaskEvent {
	t.Helper()
	var got []acmp.TaskEvent
	eventually(t, func() bool {
		got = r.of(taskID)
		return slices.ContainsFunc(got, func(ev acmp.TaskEvent) bool { return slices.Contains(kinds, ev.Kind) })
	}, fmt.Sprintf("event %v", kinds))
	return got
}

// outcome waits for the end of a task and gives all its events.
func (r *recorder) outcome(t *testing.T, taskID string) []acmp.TaskEvent {
	t.Helper()
	return r.await(t, taskID, acmp.EventResult, acmp.EventError)
}

func last(evs []acmp.TaskEvent) acmp.TaskEvent { return evs[len(evs)-1] }

func kinds(evs []acmp.TaskEvent) string {
	var out []string
	for _, ev := range evs {
		out = append(out, string(ev.Kind))
	}
	return strings.Join(out, " ")
}

// outputText joins the text chunks since the last re-send.
func outputText(evs []acmp.TaskEvent) string {
	var b strings.Builder
	for _, ev := range evs {
		switch ev.Kind {
		case acmp.EventResent:
			b.Reset()
		case acmp.EventChunk:
			b.Write(ev.Chunk.Raw())
		}
	}
	return b.String()
}

func eventually(t testing.TB, cond func() bool, what string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second) // a busy machine is slow
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

// newBuyer starts a buyer for one provider named p.
func newBuyer(t *testing.T, url string, change func(*Options)) (*Buyer, *recorder) {
	t.Helper()
	rec := &recorder{}
	o := Options{
		Providers: []ProviderSpec{{Name: "p", URL: url}},
		Events:    rec.event, ProviderSeen: rec.provider, ProbeEvery: time.Hour,
	}
	if change != nil {
		change(&o)
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b, rec
}

func invocation(change func(*acmp.InvokeParams)) acmp.Invocation {
	in := acmp.Text("in")
	p := acmp.InvokeParams{Capability: "cap", Input: &in, Stream: true, TimeoutMS: 20000}
	if change != nil {
		change(&p)
	}
	return acmp.Invocation{Provider: "p", Params: p}
}

func invoke(t *testing.T, b *Buyer, inv acmp.Invocation) string {
	t.Helper()
	id, err := b.Invoke(t.Context(), inv)
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	return id
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
