package acop

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	core "signalbox/model/acop"
)

// FuzzRules plays any sequence of acts on a handful of items: no panic, only
// listed transitions, at most one live claim for each item, and an ended claim
// never changes (C-050, C-052, C-064, H-079).
func FuzzRules(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 1, 0, 4, 1, 0, 5, 2, 0})
	f.Add([]byte("claim, release, complete, accept and all the rest of it"))
	verbs := []core.Verb{core.VerbClaim, core.VerbRenew, core.VerbRelease, core.VerbComplete, core.VerbAccept, core.VerbHeartbeat, core.VerbRevoke,
		core.VerbCancel, core.VerbSupersede, core.VerbSendBack, core.VerbBlock, core.VerbUnblock, core.VerbResolve, core.VerbRequeue, core.VerbConsume,
		core.VerbPut}
	people := []Caller{{"a", core.RoleWorker}, {"b", core.RoleWorker}, {"lead", core.RoleLead}, {"p", core.RoleProducer}, {"r", core.RoleReader}}
	ids := []string{"x", "y", "z"}
	statuses := core.Statuses()
	f.Fuzz(func(t *testing.T, script []byte) {
		book := newFakeBook()
		for _, id := range ids {
			book.add(id, core.StatusReady)
		}
		now, last := testNow, ""
		over := make(map[string]core.Claim)
		for i := 0; i+2 < len(script) && i < 300; i += 3 {
			who, id, other := people[int(script[i+1])%len(people)], ids[int(script[i+2])%len(ids)], ids[int(script[i+2]/8)%len(ids)]
			now = now.Add(time.Duration(script[i+2]) * time.Second / 4)
			r := &request{}
			r.Act = core.Act{Verb: verbs[int(script[i])%len(verbs)], WorkItemID: id, ClaimID: last, TTLSeconds: 20, Reason: "r", Decision: core.StatusReady,
				SupersededBy: other, Blocker: &core.Blocker{BlockerCode: core.BlockerDependency, DependsOnWorkItemID: other, Severity: core.SeverityLow, Summary: "s"},
				BlockerCode: core.BlockerDependency, Disposition: core.StatusReleased}
			if r.Verb == core.VerbPut {
				w := book.items[id].WorkItem
				w.Status = statuses[int(script[i+2])%len(statuses)]
				r.Document = &core.Document{WorkItem: w}
			}
			v, refused := decide(testDesk(book, now, who.Identity, who.Role), r)
			if refused != nil {
				if !refused.Code.Known() {
					t.Fatalf("unknown code %v", refused)
				}
				continue
			}
			for _, c := range v.changes {
				for _, e := range c.Record.Events {
					if e.From != "" && e.To != "" && !core.TransitionLevel(e.From, e.To).Allowed() {
						t.Fatalf("%s moved %s from %s to %s", r.Verb, e.WorkItemID, e.From, e.To)
					}
				}
			}
			book.apply(v)
			if v.answer.Claim != nil {
				last = v.answer.Claim.ClaimID
			}
			live := make(map[string]int)
			for cid, c := range book.claims {
				if old, ended := over[cid]; ended && old != c {
					t.Fatalf("an ended claim changed: %+v, %+v", old, c)
				}
				if c.ClaimStatus != core.ClaimActive {
					over[cid] = c
				} else if live[c.WorkItemID]++; live[c.WorkItemID] > 1 {
					t.Fatalf("two live claims on %s", c.WorkItemID)
				}
			}
		}
	})
}

// FuzzFrames writes events with any text in them: what a reader of the stream
// gets is the same events, one frame for each, whatever the text holds (B27, H-001).
func FuzzFrames(f *testing.F) {
	f.Add("id", "line\nid: 7\n\ndata: x\r\r\n", uint64(3))
	f.Add("\u2028", "event: lost", uint64(1<<63))
	f.Fuzz(func(t *testing.T, id, reason string, rev uint64) {
		id, reason = strings.ToValidUTF8(id, "?"), strings.ToValidUTF8(reason, "?")
		in := []core.Event{
			{Family: core.FamilyWorkUpdate, Revision: rev, AtUTC: testNow, WorkItemID: id, Reason: reason, Verb: "put"},
			{Family: core.FamilyBlackboard, Revision: rev, AtUTC: testNow, Index: 1, Last: true, WorkItemID: id, Reason: reason, Verb: "put"},
		}
		raw := frames(in)
		if !bytes.HasSuffix(raw, []byte("\n\n")) || bytes.ContainsRune(raw, '\r') {
			t.Fatalf("not frames: %q", raw)
		}
		parts := strings.Split(strings.TrimSuffix(string(raw), "\n\n"), "\n\n")
		if len(parts) != len(in) {
			t.Fatalf("%d frames of %d events: %q", len(parts), len(in), raw)
		}
		for i, p := range parts {
			lines := strings.Split(p, "\n")
			if hasID := strings.HasPrefix(lines[0], "id: "); hasID != (i == len(in)-1) {
				t.Fatalf("frame %d: %q", i, p)
			}
			data, isData := strings.CutPrefix(lines[len(lines)-1], "data: ")
			var got core.Event
			if err := json.Unmarshal([]byte(data), &got); !isData || err != nil || got.Reason != reason || got.WorkItemID != id || got.Revision != rev {
				t.Fatalf("frame %d: %v %q", i, err, p)
			}
		}
	})
}
