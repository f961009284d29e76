package load

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"signalbox/model/acmp"
	"signalbox/model/acop"
	"signalbox/model/fleet"
	"signalbox/ui"
	"signalbox/ui/uitest"
)

// The load of the table: what stands in the box and what moves.
const (
	items     = 10_000
	workers   = 200
	tasks     = 50
	perSecond = 20_000 // chunks, over all tasks
	batchTime = 33 * time.Millisecond
)

// snapshot is a box of n work items, some of each state.
func snapshot(n, claims int, now time.Time) *acop.Snapshot {
	open := []acop.Status{acop.StatusReady, acop.StatusReady, acop.StatusBlocked, acop.StatusRequiresAttention, acop.StatusCompleted, acop.StatusAccepted}
	s := &acop.Snapshot{Revision: uint64(n), Identity: "lead-01", Role: acop.RoleLead, AtUTC: acop.NewTime(now)}
	for i := range n {
		it := uitest.Item(fmt.Sprintf("work:area%02d:item-%05d", i%17, i), fmt.Sprintf("Number %d of the things to do", i), open[i%len(open)], uint64(i+1), now)
		it.WorkItem.OwnedPaths = []string{fmt.Sprintf("area%d/part%d/**", i%17, i)}
		if i < claims {
			it.WorkItem.Status = acop.StatusInProgress
			uitest.Lease(it, fmt.Sprintf("worker-%03d", i), 8*time.Hour, time.Minute, now)
		}
		if it.Status() == acop.StatusBlocked {
			it.Blockers = []acop.Blocker{{BlockerCode: acop.BlockerDependency, Severity: acop.SeverityLow, DependsOnWorkItemID: fmt.Sprintf("work:area%02d:item-%05d", (i+1)%17, i+1)}}
		}
		s.Items = append(s.Items, it)
	}
	for i := range min(n, 5000) {
		s.Entries = append(s.Entries, acop.Posted{Revision: uint64(i + 1), Entry: acop.BlackboardEntry{
			EntryID: fmt.Sprintf("entry_%d", i), WorkItemID: s.Items[i].ID(), EntryKind: acop.EntryKinds()[i%8],
			AuthorAgentUID: fmt.Sprintf("worker-%03d", i%workers), CreatedAtUTC: acop.NewTime(now), Summary: fmt.Sprintf("Note %d", i),
		}})
	}
	return s
}

func taskID(n int) string { return fmt.Sprintf("task_%08x", n) }

// sent are the facts that start the tasks.
func sent(now time.Time) []fleet.Fact {
	facts := []fleet.Fact{uitest.Provider("local", now)}
	for n := range tasks {
		p := &acmp.InvokeParams{TaskID: taskID(n), Capability: "run-tests", Stream: true}
		facts = append(facts, fleet.TaskHappened{Event: acmp.TaskEvent{
			Kind: acmp.EventSent, TaskID: taskID(n), At: now, Provider: "local", Attempt: 1, Params: p,
			HeartbeatInterval: 5 * time.Second, Deadline: now.Add(24 * time.Hour),
		}})
	}
	return facts
}

// One line and 64 of them, as chunks carry them.
const oneLine = "ok   signalbox/model/fleet   0.41s  coverage: 91.2 % of statements\n"

var (
	line, _ = json.Marshal(oneLine)
	page, _ = json.Marshal(strings.Repeat(oneLine, 64))
)

// chunks is one batch of the stream; seq counts the chunks of each task.
func chunks(n int, seq *[tasks]int64, now time.Time, data []byte) []fleet.Fact {
	facts := make([]fleet.Fact, n)
	for i := range n {
		t := i % tasks
		facts[i] = fleet.TaskHappened{Event: acmp.TaskEvent{
			Kind: acmp.EventChunk, TaskID: taskID(t), At: now, Provider: "local", Seq: seq[t], Chunk: acmp.Payload{Type: "text", Data: data},
		}}
		seq[t]++
	}
	return facts
}

// box is a running dashboard that draws to nowhere.
type box struct {
	prog *tea.Program
	done chan struct{}
	// key is when the key under way was pressed, in nanoseconds; drawn is set
	// once a frame that knows it was made.
	key   atomic.Int64
	drawn atomic.Bool
	took  chan time.Duration
}

// probe sees which key the frame that is drawn has taken in.
type probe struct {
	*ui.Model
	b   *box
	hot bool
}

func (p *probe) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := p.Model.Update(msg)
	if _, ok := msg.(tea.KeyPressMsg); ok {
		p.hot = true
	}
	return p, cmd
}

func (p *probe) View() tea.View {
	v := p.Model.View()
	if p.hot {
		p.hot = false
		p.b.drawn.Store(true)
	}
	return v
}

// Write is the terminal: the key is answered when the frame arrives here.
func (b *box) Write(p []byte) (int, error) {
	if b.drawn.Swap(false) {
		select {
		case b.took <- time.Since(time.Unix(0, b.key.Load())):
		default: // nobody measures
		}
	}
	return len(p), nil
}

func open(tb testing.TB, n int) *box {
	tb.Helper()
	return openAt(tb, n, workers, time.Now())
}

// openAt opens a box of n items of which the owner told at the instant now.
func openAt(tb testing.TB, n, claims int, now time.Time) *box {
	tb.Helper()
	b := &box{done: make(chan struct{}), took: make(chan time.Duration, 64)}
	b.prog = tea.NewProgram(&probe{Model: ui.New(tb.Context(), ui.Options{Identity: "lead-01"}), b: b},
		tea.WithInput(blocked{b.done}), tea.WithOutput(b), tea.WithWindowSize(240, 70), tea.WithColorProfile(colorprofile.TrueColor),
		tea.WithEnvironment([]string{"TERM=xterm-256color"}), tea.WithoutSignalHandler(), tea.WithFPS(ui.FrameRate))
	go func() {
		defer close(b.done)
		_, _ = b.prog.Run()
	}()
	tb.Cleanup(func() { b.prog.Kill(); <-b.done })
	s := snapshot(n, claims, now)
	facts := []fleet.Fact{uitest.Live(now), fleet.SnapshotLoaded{Snapshot: s, At: now}}
	for i := range 500 { // a log to look at
		facts = append(facts, uitest.Changed(s.Items[workers+i], acop.VerbPut, s.Revision+uint64(i)+1, now))
	}
	b.prog.Send(ui.FactsMsg{Facts: facts})
	return b
}

// blocked is a keyboard that nobody touches.
type blocked struct{ done chan struct{} }

func (r blocked) Read([]byte) (int, error) { <-r.done; return 0, io.EOF }

// stream sends the load until stop is closed.
func (b *box) stream(stop <-chan struct{}) {
	b.prog.Send(ui.FactsMsg{Facts: sent(time.Now())})
	var seq [tasks]int64
	begin, given := time.Now(), 0
	t := time.NewTicker(batchTime)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-t.C:
			// What a late tick missed is made up for: the rate holds. A tick tells
			// when it was due, which on a machine that stood still may be earlier
			// than the one before it told.
			n := max(0, int(now.Sub(begin).Seconds()*perSecond)-given)
			given += n
			b.prog.Send(ui.FactsMsg{Facts: chunks(n, &seq, now, line)})
		}
	}
}

// press presses one key and waits for the frame that shows it.
func (b *box) press(tb testing.TB, k string) time.Duration {
	b.key.Store(time.Now().UnixNano())
	b.prog.Send(uitest.Key(k))
	select {
	case d := <-b.took:
		return d
	case <-time.After(5 * time.Second):
		tb.Fatalf("no frame within 5 s of %q", k)
		return 0
	}
}
