package acmp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"signalbox/model/acmp"
)

// session serves h from a data folder until stop is called, which leaves what runs.
func session(t *testing.T, dir string, h Handler) (p *Provider, c httpPeer, stop func()) {
	t.Helper()
	o := only(h)()
	o.Data = dir
	o.Capabilities[0].Info.PriceCU = "0.25"
	p, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p, overHTTP(t, p), func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// D-12, A-078, A-079, A-081, A-082: outcomes are answered after a restart as before,
// and nothing runs again.
func TestOutcomesOutliveARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, c, stop := session(t, dir, stream(3))
	ids := []string{taskID(), taskID(), taskID()}
	asks := []map[string]any{{"stream": true}, {"stream": false, "proof_method": "result-hash"}, {"max_price_cu": 0.2}}
	var before []string
	for i, id := range ids {
		before = append(before, stripID(c.request(t, acmp.MethodInvoke, invokeParamsOf(id, asks[i])).all(t)))
	}
	stop()
	if st, err := os.Stat(filepath.Join(dir, journalName)); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("journal: %v %v", st, err)
	}
	for range 2 { // a second restart reads what the first wrote anew
		var runs atomic.Int64
		_, c, stop = session(t, dir, func(ctx context.Context, task *Task) (Output, error) {
			runs.Add(1)
			return stream(1)(ctx, task)
		})
		for i, id := range ids {
			after := stripID(c.request(t, acmp.MethodInvoke, invokeParamsOf(id, asks[i])).all(t))
			if after != before[i] {
				t.Errorf("task %d:\nbefore %s\nafter  %s", i, before[i], after)
			}
		}
		if runs.Load() != 0 {
			t.Errorf("%d runs after the restart", runs.Load())
		}
		stop()
	}
}

// D-12, A-142: what a task put out before it failed is replayed after a restart as
// before it, from seq 0 and then the error; a cancelled one is answered at once.
func TestFailuresOutliveARestart(t *testing.T) {
	for name, h := range map[string]Handler{
		"failed":            failing(3, false),
		"failed at the end": failing(3, true),
		"failed at once":    failing(0, false),
		"cancelled": func(ctx context.Context, task *Task) (Output, error) {
			_ = task.Emit(acmp.Text("begun"))
			<-ctx.Done()
			return Output{}, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, c, stop := session(t, dir, h)
			id := taskID()
			ask := invokeParamsOf(id, map[string]any{"stream": true})
			r := c.request(t, acmp.MethodInvoke, ask)
			if name == "cancelled" {
				r.next(t)
				c.notify(t, acmp.MethodCancel, map[string]any{"task_id": id})
			}
			r.all(t)
			before := stripID(c.request(t, acmp.MethodInvoke, ask).all(t))
			stop()
			for range 2 {
				_, c, stop = session(t, dir, stream(1))
				if after := stripID(c.request(t, acmp.MethodInvoke, ask).all(t)); after != before {
					t.Errorf("before %s\nafter  %s", before, after)
				}
				stop()
			}
			if got, want := strings.Count(before, acmp.MethodStreamChunk), map[string]int{"failed": 3, "failed at the end": 3}[name]; got != want {
				t.Errorf("%d chunks before the error, want %d: %s", got, want, before)
			}
		})
	}
}

// failing puts out n chunks and fails, after the final one or in the middle.
func failing(n int, final bool) Handler {
	return func(_ context.Context, task *Task) (Output, error) {
		for i := range n {
			if err := task.emit(acmp.Text("x"), final && i == n-1); err != nil {
				return Output{}, err
			}
		}
		return Output{}, &acmp.Error{Code: acmp.CodeInternal, Message: "Internal provider error", Data: map[string]any{"exit_code": 3}}
	}
}

// D-12, layer 6, section 6: an accepted offer stays accepted over a restart, with its
// price, for one task, and one that has served its task does not serve another.
func TestOffersOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	open := func(price string) (*Provider, httpPeer, func()) {
		t.Helper()
		o := offering()
		o.Data, o.OfferValid = dir, maxOfferValid
		o.Capabilities[0].Info.PriceCU = json.Number(price)
		p, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return p, overHTTP(t, p), func() {
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	_, c, stop := open("0.30")
	quoted := func() string {
		t.Helper()
		return result[acmp.Offer](t, c.request(t, acmp.MethodOfferRequest, map[string]any{"capability": "work"}).answer(t)).OfferID
	}
	accept := func(id, escrow string) int {
		t.Helper()
		return c.request(t, acmp.MethodAccept, map[string]any{"offer_id": id, "escrow_id": escrow}).code(t)
	}
	invoke := func(member, id string) message {
		t.Helper()
		return c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{member: id})).answer(t)
	}
	only, byEscrow, open1, used := quoted(), quoted(), quoted(), quoted()
	for id, escrow := range map[string]string{only: "", byEscrow: "esc_1", used: ""} {
		if code := accept(id, escrow); code != 0 {
			t.Fatalf("acceptance: %d", code)
		}
	}
	if m := invoke("offer_id", used); m.Result == nil {
		t.Fatalf("answer: %s", m.raw)
	}
	crashed, err := os.ReadFile(filepath.Join(dir, journalName)) // what kill -9 would have left
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := os.WriteFile(filepath.Join(dir, journalName), crashed, 0o600); err != nil {
		t.Fatal(err)
	}
	_, c, stop = open("9")
	for _, id := range []string{only, byEscrow, used} {
		if code := accept(id, ""); code != acmp.CodeAlreadyAccepted {
			t.Errorf("accepted again after the restart: %d", code)
		}
	}
	if m := invoke("offer_id", used); m.Error == nil || m.Error.Code != acmp.CodeAlreadyAccepted {
		t.Errorf("a second task: %s", m.raw)
	}
	if code := accept(open1, ""); code != 0 { // quoted before, accepted after
		t.Errorf("an open quote: %d", code)
	}
	stop()
	p, c, stop := open("9") // a second restart reads what the first wrote anew
	for member, id := range map[string]string{"offer_id": only, "escrow_id": "esc_1"} {
		if m := invoke(member, id); m.Result == nil || m.Result.CostCU != "0.30" {
			t.Errorf("%s: %s", member, m.raw)
		}
	}
	if n := len(p.offers.accepted); n != 4 {
		t.Errorf("%d offers held", n)
	}
	stop()
	p, _, stop = open("9")
	defer stop()
	for _, id := range []string{only, byEscrow, used} {
		if a := p.offers.accepted[id]; a == nil || !a.used {
			t.Errorf("used offer after a restart: %+v", a)
		}
	}
}

// stripID joins messages, the request ids left out.
func stripID(ms []message) string {
	var b strings.Builder
	for _, m := range ms {
		s := string(m.raw)
		if m.ID != nil {
			s = strings.Replace(s, `"id":`+string(m.ID)+`,`, "", 1)
		}
		b.WriteString(s + "\n")
	}
	return b.String()
}

// D-12: a task found running is a stored -33099 and is not run again; a record torn
// by the crash is left out; a damaged journal is said to be.
func TestRunningTaskAfterARestart(t *testing.T) {
	dir := t.TempDir()
	begun := make(chan struct{})
	p, c, stop := session(t, dir, func(ctx context.Context, _ *Task) (Output, error) {
		close(begun)
		<-ctx.Done()
		return Output{}, ctx.Err()
	})
	id := taskID()
	c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil))
	<-begun
	if _, err := New(t.Context(), Options{Capabilities: p.opts.Capabilities, Data: dir}); err == nil || !strings.Contains(err.Error(), "another provider") {
		t.Errorf("a second provider on one folder: %v", err)
	}
	path := filepath.Join(dir, journalName)
	crashed, err := os.ReadFile(path) // what kill -9 would have left
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := os.WriteFile(path, append(crashed, `{"id":"torn`...), 0o600); err != nil {
		t.Fatal(err)
	}
	var runs atomic.Int64
	_, c, stop = session(t, dir, func(ctx context.Context, task *Task) (Output, error) {
		runs.Add(1)
		return stream(1)(ctx, task)
	})
	for range 2 {
		m := c.request(t, acmp.MethodInvoke, invokeParamsOf(id, nil)).answer(t)
		if m.Error == nil || m.Error.Code != acmp.CodeInternal || m.Error.Data["task_id"] != id || !strings.Contains(string(m.raw), "restarted") {
			t.Errorf("answer: %s", m.raw)
		}
	}
	if runs.Load() != 0 {
		t.Error("it ran again")
	}
	stop()
	if err := os.WriteFile(path, append([]byte("garbage\n"), crashed...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), Options{Capabilities: p.opts.Capabilities, Data: dir}); err == nil || !strings.Contains(err.Error(), path+":1: the journal is damaged") {
		t.Errorf("damaged: %v", err)
	}
}

// B84: the journal is written anew when it has outgrown what is held; what is
// pushed out stays known by its id.
func TestJournalIsBounded(t *testing.T) {
	dir := t.TempDir()
	o := only(stream(1))()
	o.Data = dir
	o.Limits.Outcomes = 2
	p := newProvider(t, o)
	p.journal.max = 2048
	c := overHTTP(t, p)
	var ids []string
	for range 30 {
		ids = append(ids, taskID())
		if code := c.request(t, acmp.MethodInvoke, invokeParamsOf(ids[len(ids)-1], nil)).code(t); code != 0 {
			t.Fatalf("code %d", code)
		}
	}
	recs, err := readJournal(filepath.Join(dir, journalName), p.opts.Limits, p.log)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, r := range recs {
		known[r.ID] = true
	}
	if len(known) != len(ids) || len(recs) >= 2*len(ids) {
		t.Errorf("%d records of %d tasks", len(recs), len(known))
	}
	m := c.request(t, acmp.MethodInvoke, invokeParamsOf(ids[0], nil)).answer(t)
	if m.Error == nil || !strings.Contains(string(m.raw), "no longer held") {
		t.Errorf("answer: %s", m.raw)
	}
}
