package ui

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"signalbox/model/acmp"
	"signalbox/model/fleet"
	"signalbox/ui/pane/worlds"
	"signalbox/ui/screen"
	"signalbox/ui/uitest"
)

// The load of the dashboard's table: 50 tasks with 400 chunks/s each, handed over
// as the pump does it.
const (
	loadTasks = 50
	loadRate  = 20_000
	loadBatch = 33 * time.Millisecond
)

// watched is a model that notes when a key's frame was drawn.
type watched struct {
	*Model
	key, drawn atomic.Bool
}

func (w *watched) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := w.Model.Update(msg)
	if _, ok := msg.(tea.KeyPressMsg); ok {
		w.key.Store(true)
	}
	return w, cmd
}

func (w *watched) View() tea.View {
	v := w.Model.View()
	if w.key.CompareAndSwap(true, false) {
		w.drawn.Store(true)
	}
	return v
}

// terminal takes what is drawn: the first write after the key's frame carries it.
type terminal struct {
	w    *watched
	done chan time.Time
}

func (t *terminal) Write(p []byte) (int, error) {
	if t.w.drawn.CompareAndSwap(true, false) {
		t.done <- time.Now()
	}
	return len(p), nil
}

// chunks is one batch of output, spread over all tasks.
func chunks(seq []int64, now time.Time) []fleet.Fact {
	n := int(loadRate * loadBatch / time.Second)
	out := make([]fleet.Fact, 0, n)
	for i := range n {
		task := i % loadTasks
		data, _ := json.Marshal(fmt.Sprintf("ok   package %d of many  0.0%ds\n", seq[task], i%10))
		out = append(out, fleet.TaskHappened{Event: acmp.TaskEvent{
			Kind: acmp.EventChunk, TaskID: fmt.Sprint("task_load_", task), At: now, Provider: "local",
			Seq: seq[task], Chunk: acmp.Payload{Type: "text", Data: data},
		}})
		seq[task]++
	}
	return out
}

// BenchmarkKeyToFrame is the time from a key to its frame on the terminal at
// 240×70 with 10 000 items while 50 tasks stream 20 000 chunks/s. The target is
// 50 ms at p99.
func BenchmarkKeyToFrame(b *testing.B) {
	for _, id := range []screen.ID{screen.Queue, screen.Tasks} {
		b.Run(string(id), func(b *testing.B) { keyToFrame(b, id) })
	}
}

func keyToFrame(b *testing.B, id screen.ID) {
	m := New(b.Context(), Options{})
	m.state = worlds.Many(10_000, 200, 0)
	seq := make([]int64, loadTasks)
	for i := range loadTasks {
		for _, f := range uitest.TaskFacts(fmt.Sprint("task_load_", i), "load", time.Now()) {
			m.state.Apply(f)
		}
		seq[i] = 5
	}
	m.goTo(id)
	w := &watched{Model: m}
	t := &terminal{w, make(chan time.Time, 1)}
	p := tea.NewProgram(w, tea.WithInput(nil), tea.WithOutput(t), tea.WithWindowSize(240, 70),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithColorProfile(colorprofile.TrueColor), tea.WithoutSignalHandler())
	var work sync.WaitGroup
	work.Go(func() { _, _ = p.Run() })
	stop := make(chan struct{})
	work.Go(func() {
		pace := time.NewTicker(loadBatch)
		defer pace.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-pace.C:
				p.Send(FactsMsg{Facts: chunks(seq, now)})
			}
		}
	})
	keys := []string{"j", "k"}
	var took []time.Duration
	b.ResetTimer()
	for i := range b.N {
		pressed := time.Now()
		p.Send(uitest.Key(keys[i%2]))
		select {
		case at := <-t.done:
			took = append(took, at.Sub(pressed))
		case <-time.After(5 * time.Second):
			b.Fatal("no frame came")
		}
	}
	b.StopTimer()
	close(stop)
	p.Quit()
	work.Wait()
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))]) / float64(time.Millisecond) }
	b.ReportMetric(at(0.5), "ms/p50")
	b.ReportMetric(at(0.99), "ms/p99")
}

// BenchmarkChunks is what one batch of 660 chunks costs, with its frame: it comes
// 30 times a second under the load above.
func BenchmarkChunks(b *testing.B) {
	m := New(b.Context(), Options{})
	m.state = worlds.Many(10_000, 200, 0)
	m.size = size{240, 70, Layout(240, 70)}
	m.goTo(screen.Tasks)
	now := m.clock.now
	seq := make([]int64, loadTasks)
	for i := range loadTasks {
		for _, f := range uitest.TaskFacts(fmt.Sprint("task_load_", i), "load", now) {
			m.state.Apply(f)
		}
		seq[i] = 5
	}
	for b.Loop() {
		b.StopTimer()
		now = now.Add(loadBatch)
		batch := chunks(seq, now)
		b.StartTimer()
		m.Update(FactsMsg{Facts: batch})
		m.View()
	}
}
