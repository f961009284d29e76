package acop

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// metrics are what /metrics shows. All counters start at the process.
type metrics struct {
	claims, conflicts, expired, replays atomic.Int64
	streams, lost                       atomic.Int64

	// delivered is how long live events were on their way to a reader.
	delivered timing
	// acts is how long requests that change something took to answer.
	acts timing

	mu       sync.Mutex
	requests map[requestKind]int64
}

// timing sums up durations; the buckets are upper bounds in seconds.
type timing struct {
	mu     sync.Mutex
	counts [len(timingBuckets) + 1]int64
	sum    time.Duration
}

var timingBuckets = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}

func (t *timing) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := 0
	for i < len(timingBuckets) && d.Seconds() > timingBuckets[i] {
		i++
	}
	t.counts[i]++
	t.sum += d
}

// write prints a histogram of the Prometheus text format.
func (t *timing) write(w io.Writer, name, help string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name)
	var n int64
	for i, bound := range timingBuckets {
		n += t.counts[i]
		fmt.Fprintf(w, "%s_bucket{le=\"%g\"} %d\n", name, bound, n)
	}
	n += t.counts[len(timingBuckets)]
	fmt.Fprintf(w, "%s_bucket{le=\"+Inf\"} %d\n%s_sum %g\n%s_count %d\n", name, n, name, t.sum.Seconds(), name, n)
}

type requestKind struct {
	route  string
	status int
}

// request counts an answer; for a handler that wrote nothing, status 0, net/http
// answers 200.
func (m *metrics) request(route string, status int) {
	status = cmp.Or(status, http.StatusOK)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = make(map[requestKind]int64)
	}
	m.requests[requestKind{route, status}]++
}

// state is what a gauge shows at the moment it is asked for.
type state struct {
	leases, items, entries    int
	writes                    int // 1 if the log takes them
	revision, messages, bytes uint64
}

// write prints the Prometheus text format.
func (m *metrics) write(w io.Writer, now state) {
	counter := func(name, help string, v int64) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s counter\n%s %d\n", name, help, name, name, v)
	}
	gauge := func(name, help string, v any) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n%s %v\n", name, help, name, name, v)
	}
	m.mu.Lock()
	kinds := make([]requestKind, 0, len(m.requests))
	counts := make(map[requestKind]int64, len(m.requests))
	for k, v := range m.requests {
		kinds = append(kinds, k)
		counts[k] = v
	}
	m.mu.Unlock()
	slices.SortFunc(kinds, func(a, b requestKind) int {
		if c := strings.Compare(a.route, b.route); c != 0 {
			return c
		}
		return a.status - b.status
	})
	fmt.Fprint(w, "# HELP signalbox_requests_total Answered requests.\n# TYPE signalbox_requests_total counter\n")
	for _, k := range kinds {
		fmt.Fprintf(w, "signalbox_requests_total{route=%q,status=\"%d\"} %d\n", k.route, k.status, counts[k])
	}
	counter("signalbox_claims_total", "Claims granted.", m.claims.Load())
	counter("signalbox_commit_conflicts_total", "Decisions made again because somebody was first.", m.conflicts.Load())
	counter("signalbox_expired_total", "Leases and intents that ended by time.", m.expired.Load())
	counter("signalbox_replays_total", "Answers given again for an idempotency key.", m.replays.Load())
	gauge("signalbox_event_streams", "Open event streams.", m.streams.Load())
	counter("signalbox_event_readers_lost_total", "Event streams cut off because their reader was too slow.", m.lost.Load())
	m.delivered.write(w, "signalbox_event_lag_seconds", "Time from an act to the sending of its events to one live reader.")
	m.acts.write(w, "signalbox_act_seconds", "Time to answer a request that changes something.")
	gauge("go_goroutines", "Goroutines of the process.", runtime.NumGoroutine())
	gauge("signalbox_log_takes_writes", "1 while the log takes writes, as far as is known; else 0.", now.writes)
	gauge("signalbox_active_leases", "Work items that somebody holds.", now.leases)
	gauge("signalbox_work_items", "Work items, closed ones included.", now.items)
	gauge("signalbox_entries", "Blackboard entries.", now.entries)
	gauge("signalbox_revision", "Last revision of the log.", now.revision)
	gauge("signalbox_stream_messages", "Messages in the log.", now.messages)
	gauge("signalbox_stream_bytes", "Size of the log on disk, as the engine counts it.", now.bytes)
}
