package acop

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestListOfDearScopes lists items whose paths are made to take long to compare, beside
// live claims of the same kind: one request has one budget, however many pairs it
// compares (B84).
func TestListOfDearScopes(t *testing.T) {
	if testing.Short() {
		t.Skip("judged by the time it takes, which the race detector makes ten times as long")
	}
	t.Parallel()
	b := newBox(t, nil)
	glob := strings.Repeat("*a*b*c", 80)
	const n = 120
	for i := range n {
		paths := make([]string, 20)
		for j := range paths {
			paths[j] = fmt.Sprint(glob, i, "z", j)
		}
		id := fmt.Sprint("w", i)
		b.put(id, m{"owned_paths": paths}, nil)
		if i%2 == 0 {
			b.claim(id, "worker-http", 600)
		}
	}
	for _, path := range []string{"work-items?limit=1000", "claims"} {
		began := time.Now()
		r := b.do("GET", path, "reader-01", nil)
		b.want(r, 200, "")
		took := time.Since(began)
		t.Logf("%s: %s, %d bytes", path, took, len(r.raw))
		if took > 15*time.Second {
			t.Errorf("%s took %s", path, took)
		}
	}
}
