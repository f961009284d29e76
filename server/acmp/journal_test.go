package acmp

import (
	"context"
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
	p, err := New(o)
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
	if _, err := New(Options{Capabilities: p.opts.Capabilities, Data: dir}); err == nil || !strings.Contains(err.Error(), "another provider") {
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
	if _, err := New(Options{Capabilities: p.opts.Capabilities, Data: dir}); err == nil || !strings.Contains(err.Error(), path+":1: the journal is damaged") {
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
