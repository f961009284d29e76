//go:build unix

package load

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// cpu is the processor time of this process so far.
func cpu() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkLoadKey presses a key every 50 ms while 50 tasks stream 20 000 chunks
// a second, on each screen: at most 50 ms at p99, under 1.2 cores.
func BenchmarkLoadKey(b *testing.B) {
	for n, name := range []string{"queue", "board", "tasks", "feed", "agents", "log"} {
		b.Run(name, func(b *testing.B) {
			box := open(b, items)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() { defer close(done); box.stream(stop) }()
			defer func() { close(stop); <-done }()
			box.press(b, string(rune('1'+n)))
			there := []string{"j", "k"}
			if name == "feed" || name == "log" {
				there = []string{"k", "j"} // they begin at the end
			}
			for i := range 20 { // until the rate holds
				box.press(b, there[i%2])
			}
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			var took []time.Duration
			used, begin := cpu(), time.Now()
			for b.Loop() {
				<-tick.C
				took = append(took, box.press(b, there[len(took)%2]))
			}
			b.ReportMetric((cpu()-used).Seconds()/time.Since(begin).Seconds(), "cores")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
		})
	}
}

// calm is how long after the last news the clock still ticks each second.
const calm = 65 * time.Second

// BenchmarkLoadIdle is what 10 000 items cost while nothing moves: less than
// half a percent of a core. Leases that count down move the clock once a second.
func BenchmarkLoadIdle(b *testing.B) {
	for name, claims := range map[string]int{"still": 0, "200 leases count down": workers} {
		b.Run(name, func(b *testing.B) {
			box := openAt(b, items, claims, time.Now().Add(-5*time.Minute))
			box.press(b, "2")
			box.press(b, "1")
			if claims == 0 {
				time.Sleep(calm)
			}
			runtime.GC()
			b.ResetTimer()
			used, begin := cpu(), time.Now()
			for b.Loop() {
				time.Sleep(2 * time.Second)
			}
			b.ReportMetric(100*(cpu()-used).Seconds()/time.Since(begin).Seconds(), "%core")
		})
	}
}

// BenchmarkLoadIdleFloor is what a program that shows nothing costs: the renderer
// looks ui.FrameRate times a second whether there is something to write.
func BenchmarkLoadIdleFloor(b *testing.B) {
	done := make(chan struct{})
	p := tea.NewProgram(nothing{}, tea.WithInput(blocked{done}), tea.WithOutput(io.Discard), tea.WithWindowSize(240, 70), tea.WithoutSignalHandler(), tea.WithFPS(ui.FrameRate))
	go func() { defer close(done); _, _ = p.Run() }()
	defer func() { p.Kill(); <-done }()
	used, begin := cpu(), time.Now()
	for b.Loop() {
		time.Sleep(2 * time.Second)
	}
	b.ReportMetric(100*(cpu()-used).Seconds()/time.Since(begin).Seconds(), "%core")
}

type nothing struct{}

func (nothing) Init() tea.Cmd                         { return nil }
func (n nothing) Update(tea.Msg) (tea.Model, tea.Cmd) { return n, nil }
func (nothing) View() tea.View                        { return tea.NewView("") }

// BenchmarkLoadAttach is the way from the bytes of a snapshot of 10 000 items to
// the first full frame: at most 1 s.
func BenchmarkLoadAttach(b *testing.B) {
	now := time.Now()
	raw, err := json.Marshal(snapshot(items, workers, now))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		var s acop.Snapshot
		if err := json.Unmarshal(raw, &s); err != nil {
			b.Fatal(err)
		}
		m := ui.New(b.Context(), ui.Options{})
		m.Update(tea.WindowSizeMsg{Width: 240, Height: 70})
		m.Update(ui.FactsMsg{Facts: []fleet.Fact{uitest.Live(now), fleet.SnapshotLoaded{Snapshot: &s, At: now}}})
		m.View()
	}
}

// BenchmarkLoadMemory is the memory of a box of 50 tasks with 10 MB of output
// each: at most 200 MB.
func BenchmarkLoadMemory(b *testing.B) {
	for b.Loop() {
		now := time.Now()
		st := fleet.New()
		for _, f := range sent(now) {
			st.Apply(f)
		}
		var seq [tasks]int64
		for range 10 << 20 / len(page) {
			for _, f := range chunks(tasks, &seq, now, page) {
				st.Apply(f)
			}
		}
		b.ReportMetric(float64(heap())/1e6, "MB-held")
		runtime.KeepAlive(st)
	}
}

// heap is what is held after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
