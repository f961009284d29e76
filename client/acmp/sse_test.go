package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
)

// fakeSink records what a filter hands over.
type fakeSink struct {
	chunks     []acmp.StreamChunk
	beats      []acmp.Heartbeat
	violations []string
	answers    int
	drop       bool // count only
	n          int
}

func (s *fakeSink) chunk(c acmp.StreamChunk) {
	s.n++
	if !s.drop {
		s.chunks = append(s.chunks, c)
	}
}
func (s *fakeSink) heartbeat(h acmp.Heartbeat) { s.beats = append(s.beats, h) }
func (s *fakeSink) violation(msg string)       { s.violations = append(s.violations, msg) }
func (s *fakeSink) wrote()                     {}
func (s *fakeSink) answered([]byte)            { s.answers++ }

func (s *fakeSink) text() string {
	var b strings.Builder
	for _, c := range s.chunks {
		b.Write(c.Chunk.Raw())
	}
	return b.String()
}

func testFilter(s sink) *filter {
	return &filter{
		log:    slog.New(slog.DiscardHandler),
		find:   func(id string) sink { return map[bool]sink{true: s}[id == "t"] },
		answer: func(id string) (sink, bool) { return s, id == "7" },
	}
}

// events reads all data of a stream.
func events(t *testing.T, r io.Reader, limit int) (out []string) {
	t.Helper()
	e := newEventReader(r, limit)
	for {
		data, err := e.next()
		switch {
		case errors.Is(err, io.EOF):
			return out
		case errors.Is(err, errTooLong):
			out = append(out, "TOO LONG")
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, string(data))
		}
	}
}

// split gives a reader that ends its first read after n bytes.
func split(s string, n int) io.Reader {
	return io.MultiReader(strings.NewReader(s[:n]), strings.NewReader(s[n:]))
}

// A-037, B25: line ends, comments, several data lines and foreign fields, at
// every split and byte by byte.
func TestEventForms(t *testing.T) {
	cases := map[string]struct {
		stream string
		want   []string
	}{
		"lf":           {"data: one\n\ndata: two\n\n", []string{"one", "two"}},
		"crlf":         {"data: one\r\ndata: two\r\ndata: three\r\n\r\n", []string{"one\ntwo\nthree"}},
		"cr":           {"data: one\r\rdata: two\r\r", []string{"one", "two"}},
		"mixed":        {"data: one\r\ndata: two\r\r\ndata: x\n\r\n", []string{"one\ntwo", "x"}},
		"comments":     {": hi\n:\ndata: one\n: between\n\n:\n\n", []string{"one"}},
		"fields":       {"id: 4\nretry: 10\nfoo: bar\nevent: message\ndata:one\n\n", []string{"one"}},
		"other event":  {"event: ping\ndata: {}\n\ndata: one\n\n", []string{"one"}},
		"no data":      {"event: message\n\ndata\n\ndata: one\n\n", []string{"", "one"}},
		"bom":          {"\xEF\xBB\xBFdata: one\n\n", []string{"one"}},
		"unended":      {"data: one\n\ndata: two\n", []string{"one"}},
		"cut in field": {"data: one\n\nda", []string{"one"}},
		"multi-byte":   {"data: 東京 👍🏽 “ok”\n\n", []string{"東京 👍🏽 “ok”"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for n := 0; n <= len(c.stream); n++ {
				if diff := cmp.Diff(c.want, events(t, split(c.stream, n), 1000)); diff != "" {
					t.Fatalf("split at %d: %s", n, diff)
				}
			}
			if diff := cmp.Diff(c.want, events(t, iotest.OneByteReader(strings.NewReader(c.stream)), 1000)); diff != "" {
				t.Fatalf("byte by byte: %s", diff)
			}
		})
	}
}

// B24: text with wide characters survives any split; a bad byte becomes one
// U+FFFD and the stream goes on.
func TestCharactersCutBetweenReads(t *testing.T) {
	const want = "東京 👍🏽 “ok”"
	stream := "data: " + chunkJSON("t", 0, want, false) + "\n\ndata: " + chunkJSON("t", 1, "a\xffb", true) + "\n\n"
	stream = strings.Replace(stream, `a\ufffdb`, "a\xffb", 1) // Marshal would mend it
	for n := range len(stream) {
		s := &fakeSink{}
		b := newEventBody(io.NopCloser(split(stream, n)), testFilter(s), s, 1<<20)
		if _, err := io.ReadAll(b); err != nil {
			t.Fatal(err)
		}
		if got := s.text(); got != want+"a\uFFFDb" || len(s.violations) > 0 {
			t.Fatalf("split at %d: %q %v", n, got, s.violations)
		}
	}
}

// B27: long data lines arrive up to the limit; above it one clear fault, and the
// reading goes on behind; memory stays under twice the limit.
func TestLongLines(t *testing.T) {
	const limit = 16 << 20
	big := func(n int) string { return strings.Repeat("x", n) }
	for _, n := range []int{70 << 10, 2 << 20, 15 << 20, limit} {
		got := events(t, strings.NewReader("data: "+big(n)+"\n\ndata: after\n\n"), limit)
		if len(got) != 2 || len(got[0]) != n || got[1] != "after" {
			t.Errorf("%d bytes: %d events", n, len(got))
		}
	}
	for _, form := range []string{
		"data: " + big(limit+1) + "\n\ndata: after\n\n",
		strings.Repeat("data: "+big(1<<20)+"\n", 17) + "\ndata: after\n\n",
	} {
		if diff := cmp.Diff([]string{"TOO LONG", "after"}, events(t, strings.NewReader(form), limit)); diff != "" {
			t.Error(diff)
		}
	}
	endless := io.LimitReader(zeros{}, 128<<20)
	before := heap()
	e := newEventReader(io.MultiReader(strings.NewReader("data: "), endless, strings.NewReader("\n\ndata: after\n\n")), limit)
	if _, err := e.next(); !errors.Is(err, errTooLong) {
		t.Fatalf("error %v", err)
	}
	if grown := heap() - before; grown > 2*limit {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	if data, err := e.next(); err != nil || string(data) != "after" {
		t.Errorf("after the long line: %q, %v", data, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// only the awaited response reaches the SDK;
// what is about other tasks, or a request, is dropped.
func TestFilterPassesOnlyTheResponse(t *testing.T) {
	stream := strings.Join([]string{
		`{"jsonrpc":"2.0","method":"acmp/heartbeat","params":{"task_id":"t","progress":1.5,"extra":{}}}`,
		chunkJSON("other", 0, "stray", false),
		chunkJSON("t", 0, "mine", true),
		`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":[1]}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"a":` + "\ndata: " + `1}}`,
		chunkJSON("t", 1, "late", true),
	}, "\n\ndata: ")
	s := &fakeSink{}
	b := newEventBody(io.NopCloser(strings.NewReader("data: "+stream+"\n\n")), testFilter(s), s, 1<<20)
	got, err := io.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	if want := "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\": 1}}\n\n"; string(got) != want {
		t.Errorf("passed %q", got)
	}
	if s.text() != "mine" || s.answers != 1 || len(s.beats) != 1 || *s.beats[0].Progress != 1 || len(s.violations) > 0 {
		t.Errorf("sink %+v", s)
	}
}

// Faults of a message end its task and name no content.
func TestFaultyMessages(t *testing.T) {
	for _, msg := range []string{
		`{`, `[]`, `{"jsonrpc":"2.0"}`, `nonsense SECRET`,
		`{"method":"acmp/streamChunk","params":{"task_id":"t","seq":"x"}}`,
		`{"method":"acmp/streamChunk","params":{"task_id":"t","seq":-1,"chunk":{"type":"text","data":"x"}}}`,
		`{"method":"acmp/streamChunk","params":{"task_id":"t","seq":0}}`,
		`{"method":"acmp/streamChunk","params":{"task_id":"t","seq":9223372036854775808,"chunk":{"type":"text","data":"x"}}}`,
	} {
		s := &fakeSink{}
		b := newEventBody(io.NopCloser(strings.NewReader("data: "+msg+"\n\n")), testFilter(s), s, 1000)
		if _, err := io.ReadAll(b); err != nil {
			t.Fatal(err)
		}
		if len(s.violations) != 1 || strings.Contains(s.violations[0], "SECRET") {
			t.Errorf("%s: %q", msg, s.violations)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: one\r\n\r\ndata: {\"id\":7,\"result\":1}\n\n"), 3)
	f.Add([]byte(":\r\r\n\ndata:\xff\n\n"), 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = min(max(n, 0), len(b))
		whole := events(t, bytes.NewReader(b), 64)
		if diff := cmp.Diff(whole, events(t, split(string(b), n), 64)); diff != "" {
			t.Errorf("split at %d: %s", n, diff)
		}
		s := &fakeSink{}
		if _, err := io.ReadAll(newEventBody(io.NopCloser(bytes.NewReader(b)), testFilter(s), s, 64)); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkChunks(b *testing.B) {
	line, _ := json.Marshal(json.RawMessage(chunkJSON("t", 12345, "a line of output of usual length, such as this one is\n", false)))
	event := append(append([]byte("event: message\ndata: "), line...), "\n\n"...)
	s := &fakeSink{drop: true}
	body := newEventBody(io.NopCloser(&repeat{b: event, n: b.N}), testFilter(s), s, 1<<20)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := io.Copy(io.Discard, body); err != nil || s.n != b.N {
		b.Fatal(err, s.n)
	}
}

// repeat reads b n times.
type repeat struct {
	b   []byte
	n   int
	off int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.n > 0 {
		k := copy(p[n:], r.b[r.off:])
		n += k
		if r.off += k; r.off == len(r.b) {
			r.off = 0
			r.n--
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
