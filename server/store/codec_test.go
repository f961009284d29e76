package store

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acop"
)

// randomRecord has all kinds of members, those that are empty included.
func randomRecord(r *rand.Rand, id string) Record {
	it := randomItem(r, id)
	it.WorkItem.Summary = []string{"", "a <b> & \"c\" \u2028 \\ é \x01\n", "漢字"}[r.IntN(3)]
	it.Attempts = r.IntN(2)
	if r.IntN(2) == 0 {
		it = lease(it, "claim", "ann", time.Minute)
		it.Lease.RenewedAtUTC = []acop.Time{{}, acop.NewTime(start)}[r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		it.Intents = []acop.Intent{{ClaimIntent: acop.ClaimIntent{RequestedAtUTC: acop.NewTime(start)}, State: acop.IntentDenied, DecidedUTC: acop.NewTime(start)}}
	}
	c := itemChange(it, "put", "claim")
	if r.IntN(2) == 0 {
		c.Record.Ended = &acop.Claim{ClaimID: "c", GrantedAtUTC: acop.NewTime(start), ExpiresAtUTC: acop.NewTime(start)}
		c.Record.Idem = &Idempotency{Scope: "s", Status: 201, Body: []byte{0, 255, 'x'}, Header: map[string]string{"a": "b"}}
	}
	return c.Record
}

// What the standard library wrote into older logs is read as before, and what is
// written now the standard library reads.
func TestRecordForm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	same := cmp.AllowUnexported(acop.Time{})
	for i := range 300 {
		rec := randomRecord(r, fmt.Sprint(i))
		older, err := json.Marshal(&rec)
		if err != nil {
			t.Fatal(err)
		}
		now, err := encode(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if len(now) > len(older) {
			t.Fatalf("longer than before:\n%s\n%s", now, older)
		}
		var want Record
		if err := json.Unmarshal(older, &want); err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func(*Record) error{
			"older by new": func(r *Record) error { return decodeInto(older, r) },
			"new by new":   func(r *Record) error { return decodeInto(now, r) },
			"new by old":   func(r *Record) error { return json.Unmarshal(now, r) },
		} {
			var got Record
			if err := read(&got); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if d := cmp.Diff(want, got, same); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
		}
	}
}

// Text that is not valid is made valid and does not keep an act from the log.
func TestInvalidTextIsMadeValid(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	it := newItem("a", acop.StatusReady)
	it.WorkItem.Title = "cut \xe6\xbc"
	commit(t, s, itemChange(it))
	if got := mustItem(t, s, "a").WorkItem.Title; got != "cut \ufffd\ufffd" && got != "cut \ufffd" {
		t.Errorf("the title is %q", got)
	}
}

// The note has the form that older owners left behind.
func TestNoteForm(t *testing.T) {
	t.Parallel()
	l := link{rev: 1234567}
	for i := range l.sum {
		l.sum[i] = byte(i * 7)
	}
	body := fmt.Sprintf("%020d %s", l.rev, l.sum)
	want := fmt.Sprintf("%-127s\n", fmt.Sprintf("%s %08x", body, crc32.ChecksumIEEE([]byte(body))))
	got := formatSlot(l)
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if back, ok := parseSlot(got); !ok || back != l {
		t.Errorf("read back: %v, %v", back, ok)
	}
}
