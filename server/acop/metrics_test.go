package acop

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var sampleLine = regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? (\S+)$`)

// samples reads /metrics as a collector would; every sample needs its TYPE.
func (b *box) samples() map[string]float64 {
	b.t.Helper()
	resp, err := http.Get(b.http.URL + "/metrics")
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	out, typed := make(map[string]float64), make(map[string]bool)
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		line := sc.Text()
		if fields := strings.Fields(line); strings.HasPrefix(line, "# TYPE ") {
			typed[fields[2]] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP ") {
			continue
		}
		g := sampleLine.FindStringSubmatch(line)
		if g == nil {
			b.t.Fatalf("no sample: %q", line)
		}
		v, err := strconv.ParseFloat(g[3], 64)
		if family := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(g[1], "_bucket"), "_sum"), "_count"); err != nil || !typed[g[1]] && !typed[family] {
			b.t.Errorf("%q: %v, with a TYPE: %v", line, err, typed[family])
		}
		out[g[1]+g[2]] = v
	}
	return out
}

// TestMetrics counts what happened, once each, and tells nothing of the work.
func TestMetrics(t *testing.T) {
	t.Parallel()
	b := newBox(t, nil)
	b.put("secret-item", nil, nil)
	b.put("v", nil, nil)
	l := b.listen("")
	l.next()
	key := header{"Idempotency-Key": "k"}
	for range 2 {
		b.want(b.do("POST", "claims", "worker-http", claimBody("secret-item", "worker-http", 60), key), 201, "")
	}
	b.want(b.do("POST", "claims", "worker-other", claimBody("secret-item", "worker-other", 60)), 409, "claim_conflict")
	b.claim("v", "worker-other", 600)
	b.want(b.do("POST", "blackboard", "worker-http", body(entryOf("v", "worker-http", nil))), 201, "")
	b.clock.advance(61e9)
	eventually(t, "the lease is written off", func() bool { return b.countEvents("secret-item", "expire") == 1 })
	for f := l.next(); f.ev.Verb != "expire"; f = l.next() { // all was told live
	}
	got := b.samples()
	for name, want := range map[string]float64{
		"signalbox_claims_total": 2, "signalbox_expired_total": 1, "signalbox_replays_total": 1, "signalbox_commit_conflicts_total": 0,
		"signalbox_active_leases": 1, "signalbox_work_items": 2, "signalbox_entries": 1, "signalbox_event_streams": 1,
		"signalbox_event_readers_lost_total": 0, "signalbox_revision": float64(b.store.Revision()),
		`signalbox_requests_total{route="claims",status="201"}`: 3, `signalbox_requests_total{route="claims",status="409"}`: 1,
		`signalbox_requests_total{route="work-items",status="201"}`: 2, "signalbox_act_seconds_count": 7,
		`signalbox_act_seconds_bucket{le="+Inf"}`: 7,
	} {
		if v, told := got[name]; !told || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if got["go_goroutines"] < 2 || got["signalbox_log_takes_writes"] != 1 {
		t.Errorf("%v goroutines, takes writes: %v", got["go_goroutines"], got["signalbox_log_takes_writes"])
	}
	if got["signalbox_event_lag_seconds_count"] < 1 || got["signalbox_stream_bytes"] < 1 || got["signalbox_stream_messages"] < 6 || got["signalbox_act_seconds_sum"] <= 0 {
		t.Errorf("lag, size or time are not told: %v", got)
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		for _, c := range []struct {
			method string
			status int
		}{{"GET", 200}, {"HEAD", 200}, {"POST", 405}} {
			req, err := http.NewRequest(c.method, b.http.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != c.status || strings.Contains(string(raw), "secret-item") || strings.Contains(string(raw), "worker-http") {
				t.Errorf("%s %s: %v %d %s", c.method, path, err, resp.StatusCode, raw)
			}
		}
	}
	b.owner.Close()
	for path, status := range map[string]int{"/readyz": 503, "/healthz": 200} {
		resp, err := http.Get(b.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != status || (resp.Header.Get("Retry-After") == "1") != (status == 503) {
			t.Errorf("%s of a closing owner: %d, Retry-After %q", path, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
}
