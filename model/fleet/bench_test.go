package fleet

import (
	"fmt"
	"testing"
	"time"

	"signalbox/model/acmp"
	"signalbox/model/acop"
)

// crowd is the load that a dashboard must bear: n items, 200 agents, 50 running tasks.
func crowd(n int) (*State, *owner) {
	s := New()
	items := make([]*acop.Item, 0, n)
	for i := range n {
		id := fmt.Sprintf("work:%05d", i)
		var it *acop.Item
		switch {
		case i < 200:
			it = held(id, fmt.Sprintf("worker-%d", i), t0, time.Hour, fmt.Sprintf("src/part%d", i), "docs/*.md")
			it.WorkItem.OwnedPaths = it.WorkItem.OwnedPaths[:1+i%50/49]
		case i%50 == 0:
			it = item(id, acop.StatusRequiresAttention)
		case i%50 == 1:
			it = item(id, acop.StatusCompleted)
		case i%3 == 0:
			it = dependsOn(item(id, acop.StatusBlocked), fmt.Sprintf("work:%05d", i-i%50))
		default:
			it = item(id, acop.StatusReady)
		}
		items = append(items, it)
	}
	o := newOwner(s).snapshot(items...)
	for i := range 50 {
		sent(s, fmt.Sprintf("task_%d", i), t0, time.Second, time.Hour)
	}
	return s, o
}

// One event: at most 10 µs, no growth with the number of items.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("renew/items=%d", n), func(b *testing.B) {
			s, o := crowd(n)
			i := held("work:00007", "worker-7", t0, time.Hour, "src/part7")
			b.ReportAllocs()
			for b.Loop() {
				o.rev++
				i = i.Clone()
				i.Revision = o.rev
				s.Apply(OwnerEvent{At: t0, Event: acop.Event{Revision: o.rev, Verb: "renew", WorkItemID: i.ID(), Item: i}})
			}
		})
		b.Run(fmt.Sprintf("claim+release/items=%d", n), func(b *testing.B) {
			s, o := crowd(n)
			for b.Loop() {
				o.event(acop.VerbClaim, held("work:00099", "worker-x", t0, time.Hour, "src/part7"), acop.StatusReady, nil)
				o.event(acop.VerbRelease, item("work:00099", acop.StatusReady), acop.StatusInProgress, nil)
			}
			_ = s
		})
		b.Run(fmt.Sprintf("chunk/items=%d", n), func(b *testing.B) {
			s, _ := crowd(n)
			ev := acmp.TaskEvent{Kind: acmp.EventChunk, TaskID: "task_7", At: t0, Chunk: acmp.Text("one line of output of a test run\n")}
			b.ReportAllocs()
			for b.Loop() {
				s.Apply(TaskHappened{Event: ev})
				ev.Seq++
			}
		})
	}
}

func BenchmarkAsks(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("nothing changed/items=%d", n), func(b *testing.B) {
			s, _ := crowd(n)
			for b.Loop() {
				s.Asks(t0)
			}
		})
		b.Run(fmt.Sprintf("one chunk/items=%d", n), func(b *testing.B) {
			s, _ := crowd(n)
			ev := acmp.TaskEvent{Kind: acmp.EventChunk, TaskID: "task_7", At: t0, Chunk: acmp.Text("x\n")}
			for b.Loop() {
				s.Apply(TaskHappened{Event: ev})
				ev.Seq++
				s.Asks(t0)
			}
		})
		b.Run(fmt.Sprintf("one claim/items=%d", n), func(b *testing.B) {
			s, o := crowd(n)
			s.Asks(t0)
			for k := 0; b.Loop(); k++ {
				o.event(acop.VerbClaim, held("work:00099", "worker-x", after(time.Duration(k)), time.Hour, "src/part7"), acop.StatusReady, nil)
				s.Asks(t0)
			}
		})
		b.Run(fmt.Sprintf("60 claims in one path/items=%d", n), func(b *testing.B) {
			s, o := crowd(n)
			for i := range 60 {
				id := fmt.Sprintf("work:%05d", i)
				o.event(acop.VerbPut, held(id, fmt.Sprintf("worker-%d", i), after(time.Duration(i)), time.Hour, "src"), "", nil)
			}
			s.Asks(t0)
			for b.Loop() {
				o.event(acop.VerbRenew, held("work:00007", "worker-7", after(7), time.Hour, "src"), acop.StatusInProgress, nil)
				s.Asks(t0)
			}
		})
		b.Run(fmt.Sprintf("one decision/items=%d", n), func(b *testing.B) {
			s, o := crowd(n)
			s.Asks(t0)
			states := []acop.Status{acop.StatusReady, acop.StatusRequiresAttention}
			for k := 0; b.Loop(); k++ {
				o.event(acop.VerbResolve, item("work:00060", states[k%2]), states[(k+1)%2], nil)
				s.Asks(t0)
			}
		})
		b.Run(fmt.Sprintf("one dependency/items=%d", n), func(b *testing.B) {
			s, o := crowd(n)
			s.Asks(t0)
			for k := 0; b.Loop(); k++ {
				it := item("work:00063", acop.StatusBlocked)
				if k%2 == 0 {
					dependsOn(it, "work:00050")
				}
				o.event(acop.VerbPut, it, "", nil)
				s.Asks(t0)
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s, o := crowd(10_000)
	items := make([]*acop.Item, 0, len(s.Items))
	for _, i := range s.Items {
		items = append(items, i)
	}
	for b.Loop() {
		o.snapshot(items...)
		s.Asks(t0)
	}
}

func BenchmarkAgents(b *testing.B) {
	s, _ := crowd(10_000)
	for b.Loop() {
		s.Agents(t0)
	}
}

func BenchmarkNextChange(b *testing.B) {
	s, _ := crowd(10_000)
	for b.Loop() {
		s.NextChange(t0)
	}
}
