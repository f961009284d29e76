package acop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
	"signalbox/model/fleet"
)

// script is a fake owner whose connections to GET events are scripted: each
// gets its Last-Event-ID and a writer.
type script struct {
	mu      sync.Mutex
	snaps   int
	rev     uint64 // of the snapshots
	lastIDs []string
	streams []func(ctx context.Context, w io.Writer) (status int, body string)
}

func (s *script) trip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/snapshot") {
		s.snaps++
		return respond(200, nil, fmt.Sprintf(`{"revision":%d,"identity":"lead-01","role":"lead","at_utc":"2000-01-01T00:00:05.000Z","items":[]}`, s.rev)), nil
	}
	s.lastIDs = append(s.lastIDs, r.Header.Get("Last-Event-ID"))
	if len(s.streams) == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	next := s.streams[0]
	s.streams = s.streams[1:]
	pr, pw := io.Pipe()
	context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
	status := make(chan *http.Response, 1)
	go func() {
		code, body := next(r.Context(), &firstWrite{w: pw, first: func() {
			status <- &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pr}
		}})
		if code != 0 {
			status <- respond(code, nil, body)
		}
		pw.Close()
	}()
	return <-status, nil
}

// firstWrite sends the headers with the first byte.
type firstWrite struct {
	w     io.Writer
	first func()
	once  sync.Once
}

func (f *firstWrite) Write(p []byte) (int, error) {
	f.once.Do(f.first)
	return f.w.Write(p)
}

func event(rev, index int, last bool) string {
	id := ""
	if last {
		id = fmt.Sprintf("id: %d\n", rev)
	}
	return fmt.Sprintf("event: work_update\n%sdata: {\"family\":\"work_update\",\"revision\":%d,\"index\":%d,\"last\":%t,\"verb\":\"put\"}\n\n", id, rev, index, last)
}

// writes sends texts and ends the stream.
func writes(texts ...string) func(context.Context, io.Writer) (int, string) {
	return func(_ context.Context, w io.Writer) (int, string) {
		for _, s := range texts {
			io.WriteString(w, s)
		}
		return 0, ""
	}
}

func refuses(status int, code string) func(context.Context, io.Writer) (int, string) {
	return func(context.Context, io.Writer) (int, string) { return status, refusal(code, "") }
}

// watchFor runs Watch for d of fake time and returns what it told, in words.
func watchFor(t *testing.T, d time.Duration, s *script) []string {
	t.Helper()
	var told []string
	c := newClient(t, Options{BaseURL: "http://owner.test/v1/", HTTPClient: &http.Client{Transport: tripper(s.trip)}})
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	err := c.Watch(ctx, func(f fleet.Fact) {
		switch f := f.(type) {
		case fleet.SnapshotLoaded:
			told = append(told, fmt.Sprintf("snapshot %d", f.Snapshot.Revision))
		case fleet.OwnerEvent:
			told = append(told, fmt.Sprintf("event %d.%d", f.Event.Revision, f.Event.Index))
		case fleet.LinkChanged:
			w := string(f.Link.State)
			if f.Link.Try > 0 {
				w += fmt.Sprintf(" try %d", f.Link.Try)
				if f.Link.NextTry.IsZero() || f.Link.Problem == "" {
					t.Errorf("degraded without next try or problem: %+v", f.Link)
				}
			}
			if f.Link.Lost {
				w += " lost"
			}
			told = append(told, w)
		}
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch ended with %v", err)
	}
	synctest.Wait()
	return told
}

// TestWatchResumes: an act is delivered whole, a cut inside one resumes before
// it, and the link says degraded once and live once (A-173, B25).
func TestWatchResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{rev: 10}
		s.streams = append(s.streams,
			writes(": hello\n\n", event(10, 0, true), event(11, 0, true), event(12, 0, false)),
			writes(event(11, 0, true), event(12, 0, false)+event(12, 1, true), event(13, 0, true)),
		)
		got := watchFor(t, 2*time.Second, s)
		want := []string{"connecting", "snapshot 10", "live", "event 11.0", "degraded try 1", "live", "event 12.0", "event 12.1", "event 13.0", "degraded try 1"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"9", "10", "12"}, s.lastIDs); d != "" {
			t.Error(d)
		}
		if s.snaps != 1 {
			t.Errorf("%d snapshots", s.snaps)
		}
	})
}

// TestWatchKnowsTheLog: an owner that was put back from a copy and has gone on since
// has as many revisions as before, and other acts behind them. It is not resumed, also
// not where it has fewer and is silent, and the link says that something was missed.
func TestWatchKnowsTheLog(t *testing.T) {
	other := strings.ReplaceAll(event(11, 0, true), `"put"`, `"cancel"`)
	silent := func(ctx context.Context, w io.Writer) (int, string) {
		io.WriteString(w, ": hi\n\n")
		<-ctx.Done()
		return 0, ""
	}
	for name, tt := range map[string]struct {
		first, second func(context.Context, io.Writer) (int, string)
		want          string
	}{
		"another act":     {writes(event(11, 0, true)), writes(other, event(12, 0, true)), "event 11.0, degraded try 1, degraded try 2, snapshot 10, live lost"},
		"no such act":     {writes(event(11, 0, true)), writes(event(12, 0, true)), "event 11.0, degraded try 1, degraded try 2, snapshot 10, live lost"},
		"nothing at all":  {writes(event(11, 0, true)), silent, "event 11.0, degraded try 1, snapshot 10, live lost"},
		"nothing to know": {writes(": hi\n\n"), silent, "snapshot 10, live, degraded try 1, snapshot 10, live"},
		"a quiet one":     {writes(event(10, 0, true)), writes(other), "snapshot 10, live, degraded try 1, degraded try 2, snapshot 10, live lost"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{rev: 10}
				s.streams = append(s.streams, tt.first, tt.second, silent)
				var got []string
				for _, w := range watchFor(t, 20*time.Second, s) {
					if len(got) == 0 || got[len(got)-1] != w {
						got = append(got, w)
					}
				}
				if told := strings.Join(got, ", "); !strings.HasSuffix(told, tt.want) || s.snaps != 2 {
					t.Errorf("%d snapshots, told: %s", s.snaps, told)
				}
			})
		})
	}
}

// TestWatchCompacted: a log that begins behind the snapshot is followed without a
// word, though it cannot tell what the last act before was.
func TestWatchCompacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{rev: 10}
		s.streams = append(s.streams, writes("event: lost\ndata: {\"revision\":10}\n\n"), writes(event(11, 0, true)))
		got := watchFor(t, 100*time.Millisecond, s)
		if d := cmp.Diff([]string{"connecting", "snapshot 10", "live", "live", "event 11.0", "degraded try 1"}, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"9", "10"}, s.lastIDs); d != "" {
			t.Error(d)
		}
	})
}

// TestWatchLost: "lost", a cursor ahead of the log and a broken event lead to a
// new snapshot, and the link says that something was missed.
func TestWatchLost(t *testing.T) {
	for name, stream := range map[string]func(context.Context, io.Writer) (int, string){
		"lost":    writes(": hi\n\n", event(10, 0, true), "event: lost\ndata: {\"revision\":10}\n\n"),
		"ahead":   refuses(409, "signalbox.event_cursor_ahead"),
		"broken":  writes("data: {nonsense\n\n"),
		"closed":  writes("data: {\"revision\":11,\"last\":true,\"to\":\"paused\"}\n\n"),
		"toolong": writes(event(10, 0, true), "data: "+strings.Repeat("x", 17<<20), "\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{rev: 10}
				s.streams = append(s.streams, stream, writes(event(11, 0, true)))
				got := strings.Join(watchFor(t, 400*time.Millisecond, s), ", ")
				if !strings.Contains(got, "snapshot 10, live lost, event 11.0") || s.snaps != 2 {
					t.Errorf("%d snapshots, told: %s", s.snaps, got)
				}
			})
		})
	}
}

// TestWatchBacksOff: a dead owner is asked less and less often, and the numbers
// are on the link (H-067).
func TestWatchBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := tripClient(t, 0, func(*http.Request) (*http.Response, error) { n++; return nil, errors.New("connection refused") })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		last := 0
		err := c.Watch(ctx, func(f fleet.Fact) {
			if l := f.(fleet.LinkChanged).Link; l.Try > 0 {
				if l.Try != last+1 {
					t.Errorf("try %d after %d", l.Try, last)
				}
				last = l.Try
			}
		})
		if !errors.Is(err, context.DeadlineExceeded) || n < 18 || n > 26 {
			t.Errorf("err %v after %d tries in 10 min", err, n)
		}
	})
}

// TestWatchSilence covers B30: an open but silent stream is cut after Idle, a
// comment every 15 s keeps it (B29: there is no overall limit).
func TestWatchSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{rev: 10}
		s.streams = append(s.streams,
			func(ctx context.Context, w io.Writer) (int, string) {
				for range 40 { // ten minutes
					io.WriteString(w, ": still there\n\n")
					time.Sleep(15 * time.Second)
				}
				<-ctx.Done()
				return 0, ""
			})
		got := watchFor(t, 10*time.Minute+20*time.Second, s)
		degraded := 0
		for _, w := range got {
			if strings.HasPrefix(w, "degraded") {
				degraded++
			}
		}
		if degraded != 0 {
			t.Errorf("cut while alive: %v", got)
		}
		s = &script{rev: 10}
		s.streams = append(s.streams, func(ctx context.Context, w io.Writer) (int, string) {
			io.WriteString(w, ": hi\n\n")
			<-ctx.Done()
			return 0, ""
		})
		got = watchFor(t, 46*time.Second, s)
		if !slices.Contains(got, "degraded try 1") {
			t.Errorf("silence was not noticed: %v", got)
		}
	})
}

// TestWatchRefused: 401 is asked once and again only with another token (C.3).
func TestWatchRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		token := "old"
		var n atomic.Int32
		c := newClient(t, Options{
			BaseURL: "http://owner.test/",
			Token:   func(context.Context) (string, error) { mu.Lock(); defer mu.Unlock(); return token, nil },
			HTTPClient: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
				n.Add(1)
				if r.Header.Get("Authorization") == "Bearer new" {
					return nil, errors.New("reached with the new token")
				}
				return respond(401, nil, refusal("unauthenticated", "")), nil
			})},
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var states []fleet.LinkState
		go func() {
			time.Sleep(50 * time.Second)
			if n.Load() != 1 {
				t.Errorf("%d requests while refused", n.Load())
			}
			mu.Lock()
			defer mu.Unlock()
			token = "new"
		}()
		c.Watch(ctx, func(f fleet.Fact) {
			if l, ok := f.(fleet.LinkChanged); ok {
				states = append(states, l.Link.State)
			}
		})
		if len(states) < 3 || states[1] != fleet.LinkRefused || states[2] != fleet.LinkDegraded {
			t.Errorf("states = %v", states)
		}
	})
}

// TestEventsEverySplit covers B24, B25 and B27: the result does not depend on
// where the stream is cut into packets, nor on line ends, and long lines pass.
func TestEventsEverySplit(t *testing.T) {
	t.Parallel()
	text := "\ufeff: hi\n\n" + event(11, 0, false) + event(11, 1, true) +
		"id: 12\ndata: {\"revision\":12,\"last\":true,\ndata: \"reason\":\"東京 👍🏽 “ok”\"}\n\nid: 13\ndata: {\"revision\":13"
	for _, eol := range []string{"\n", "\r\n", "\r"} {
		raw := strings.ReplaceAll(text, "\n", eol)
		for cut := 1; cut < len(raw); cut++ {
			got := readAll(t, raw[:cut], raw[cut:])
			if got != "11.0 11.1 12.0 東京 👍🏽 “ok” " {
				t.Fatalf("eol %q cut at %d: %q", eol, cut, got)
			}
		}
	}
	long := strings.Repeat("y", 15<<20)
	got := readAll(t, "id: 12\ndata: {\"revision\":12,\"last\":true,\"reason\":\""+long+"\"}\n\n", event(13, 0, true))
	if got != "12.0 "+long+" 13.0 " {
		t.Errorf("a long line got lost: %d bytes", len(got))
	}
}

// readAll gives what Events delivers of one connection that sends parts.
func readAll(t *testing.T, parts ...string) string {
	t.Helper()
	var body []io.Reader
	for _, p := range parts {
		body = append(body, strings.NewReader(p))
	}
	c := tripClient(t, -1, func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
			Body: io.NopCloser(io.MultiReader(body...))}, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var b strings.Builder
	c.Events(ctx, EventQuery{}, func(events []acop.Event) error {
		for _, e := range events {
			fmt.Fprintf(&b, "%d.%d ", e.Revision, e.Index)
			if e.Reason != "" {
				b.WriteString(e.Reason + " ")
			}
		}
		return nil
	}, func(error, time.Duration) { cancel() })
	return b.String()
}

// TestEventsFiltered: a filter may take the last event of an act out; nothing is
// held back, and nothing comes twice after a cut.
func TestEventsFiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{streams: []func(context.Context, io.Writer) (int, string){
			writes(event(11, 0, false)),
			writes(event(11, 0, false), event(12, 0, true)),
		}}
		c := newClient(t, Options{BaseURL: "http://owner.test/v1/", HTTPClient: &http.Client{Transport: tripper(s.trip)}})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var got []string
		c.Events(ctx, EventQuery{WorkItem: "w"}, func(e []acop.Event) error {
			got = append(got, fmt.Sprintf("%d.%d", e[0].Revision, e[0].Index))
			return nil
		}, nil)
		if d := cmp.Diff([]string{"11.0", "12.0"}, got); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"", "", "12"}, s.lastIDs); d != "" {
			t.Error(d)
		}
	})
}
