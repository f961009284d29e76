package load

import (
	"os"
	"runtime"
	"testing"
	"time"

	"signalbox/ui/uitest"
)

// TestSoak plays the load for a while and fails if memory or goroutines grow
// after the first third, in which the bounded buffers fill.
func TestSoak(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("SIGNALBOX_SOAK"))
	if err != nil {
		t.Skip("set SIGNALBOX_SOAK to a duration, such as 10m")
	}
	box := open(t, items)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); box.stream(stop) }()
	defer func() { close(stop); <-done }()
	var at, mem, routines []int
	begin := time.Now()
	sample := time.NewTicker(max(time.Second, d/24))
	defer sample.Stop()
	keys := time.NewTicker(100 * time.Millisecond)
	defer keys.Stop()
	for n := 0; time.Since(begin) < d; {
		select {
		case <-keys.C:
			box.prog.Send(uitest.Key([]string{"j", "j", "k", "]"}[n%4]))
			n++
		case <-sample.C:
			at, mem, routines = append(at, int(time.Since(begin).Seconds())), append(mem, int(heapMB())), append(routines, runtime.NumGoroutine())
			t.Logf("%4d s  %4d MB  %d goroutines", at[len(at)-1], mem[len(mem)-1], routines[len(routines)-1])
		}
	}
	third := len(mem) / 3
	if third == 0 {
		t.Fatal("too short to tell anything")
	}
	if last, then := mem[len(mem)-1], mem[third]; last > then+then/5+10 {
		t.Errorf("memory grew from %d to %d MB", then, last)
	}
	if last, then := routines[len(routines)-1], routines[third]; last > then+2 {
		t.Errorf("goroutines grew from %d to %d", then, last)
	}
}

func heapMB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / 1e6
}
