package acop

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// metrics are what /metrics shows. All counters start at the process.
type metrics struct {
	claims, conflicts, expired, replays atomic.Int64
	streams                             atomic.Int64

	mu       sync.Mutex
	requests map[requestKind]int64
}

type requestKind struct {
	route  string
	status int
}

func (m *metrics) request(route string, status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = make(map[requestKind]int64)
	}
	m.requests[requestKind{route, status}]++
}

// write prints the Prometheus text format.
func (m *metrics) write(w io.Writer, leases int, revision uint64) {
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
	gauge("signalbox_active_leases", "Work items that somebody holds.", leases)
	gauge("signalbox_revision", "Last revision of the log.", revision)
}
