package acmp

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// D-04.
func TestAssemble(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []Payload
		want   Payload
	}{
		{"nothing", nil, Payload{}},
		{"text", []Payload{Text("a\n"), Text("b"), Text("")}, Text("a\nb")},
		{"text kinds", []Payload{{"text/plain", raw(`"a"`)}, Text("b")}, Payload{"text/plain", raw(`"ab"`)}},
		{"text closed with null", []Payload{Text("a"), {"text", raw("null")}}, Text("a")},
		{"one json is the value", []Payload{{"json", raw(`{"a": 1}`)}}, Payload{"json", raw(`{"a": 1}`)}},
		{"json", []Payload{{"json", raw(`1`)}, {"application/json", raw(`null`)}, {"json", raw(`[2]`)}}, Payload{"json", raw(`[1,null,[2]]`)}},
		{"bytes", []Payload{Bytes("image/png", []byte{1}), Bytes("image/png", []byte{2, 3})}, Bytes("image/png", []byte{1, 2, 3})},
		{"unpadded bytes", []Payload{{"binary", raw(`"AQ"`)}, {"binary", raw(`"AgM="`)}}, Bytes("binary", []byte{1, 2, 3})},
		{"mixed", []Payload{Text("a"), {"json", raw(`1`)}}, Payload{"json", raw(`["a",1]`)}},
		{"text that is none", []Payload{Text("a"), {"text", raw(`7`)}}, Payload{"json", raw(`["a",7]`)}},
		{"unknown type, one value", []Payload{{"x/y", raw(`{"k":1}`)}}, Payload{"x/y", raw(`{"k":1}`)}},
		{"a cut escape pair", []Payload{{"text", raw(`"\ud83d"`)}, {"text", raw(`"\ude00"`)}}, Payload{"text", raw(`"\ud83d\ude00"`)}},
	} {
		if diff := cmp.Diff(c.want, Assemble(c.chunks)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// Text cut at any byte, and bytes cut anywhere, come together again.
func TestAssembleAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		whole := Text(text)
		body := whole.Data[1 : len(whole.Data)-1]
		var chunks []Payload
		for _, part := range cutAnywhere(t, body) {
			chunks = append(chunks, Payload{"text", raw(`"` + string(part) + `"`)})
		}
		if got, ok := Assemble(chunks).Text(); !ok && len(chunks) > 0 || len(chunks) > 0 && got != text {
			t.Fatalf("%q became %q", text, got)
		}
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		chunks = nil
		for _, part := range cutAnywhere(t, data) {
			chunks = append(chunks, Bytes("application/octet-stream", part))
		}
		if got := Assemble(chunks).Raw(); len(chunks) > 0 && !bytes.Equal(got, data) {
			t.Fatalf("%x became %x", data, got)
		}
	})
}

func cutAnywhere(t *rapid.T, b []byte) [][]byte {
	cuts := rapid.SliceOfN(rapid.IntRange(0, len(b)), 0, 6).Draw(t, "cuts")
	slices.Sort(cuts)
	var parts [][]byte
	from := 0
	for _, c := range append(cuts, len(b)) {
		parts = append(parts, b[from:c])
		from = c
	}
	return parts
}

func TestAssemblerLimitAndReset(t *testing.T) {
	a := Assembler{Limit: 10}
	if err := a.Add(Text("123456")); err != nil {
		t.Fatal(err)
	}
	if err := a.Add(Text("123456")); !errors.Is(err, ErrTooLarge) || a.Len() != 8 {
		t.Errorf("%v, %d", err, a.Len())
	}
	a.Reset()
	if err := a.Add(Text("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := a.Payload().Text(); got != "new" {
		t.Errorf("after a reset: %q (A-083)", got)
	}
}

// D-13, D-14.
func TestSequencer(t *testing.T) {
	chunk := func(seq int64, text string, final bool) InputChunk {
		return InputChunk{Seq: seq, Chunk: Text(text), Final: final}
	}
	var q Sequencer
	var got strings.Builder
	for _, c := range []InputChunk{
		chunk(2, "c", false), chunk(0, "a", false), chunk(0, "X", false), chunk(2, "Y", false), chunk(5, "f", false),
		chunk(-1, "Z", false), chunk(1, "b", false), chunk(3, "d", true), chunk(4, "e", false), chunk(3, "W", true),
	} {
		due, err := q.Push(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range due {
			s, _ := d.Chunk.Text()
			got.WriteString(s)
		}
	}
	if got.String() != "abcd" || !q.Done() || q.Held() != 0 {
		t.Errorf("%q, done %v, held %d", got.String(), q.Done(), q.Held())
	}
}

func TestSequencerBounds(t *testing.T) {
	var q Sequencer
	for i := range int64(MaxHeldChunks) {
		if _, err := q.Push(InputChunk{Seq: i + 1, Chunk: Text("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Push(InputChunk{Seq: 100, Chunk: Text("x")}); !errors.Is(err, ErrHeldFull) {
		t.Errorf("count: %v", err)
	}
	if due, err := q.Push(InputChunk{Seq: 0, Chunk: Text("x")}); err != nil || len(due) != MaxHeldChunks+1 {
		t.Errorf("the missing one is always taken: %d, %v", len(due), err)
	}
	var big Sequencer
	if _, err := big.Push(InputChunk{Seq: 1, Chunk: Text(strings.Repeat("x", MaxHeldBytes))}); !errors.Is(err, ErrHeldFull) {
		t.Errorf("bytes: %v", err)
	}
}

// Whatever the order and however often, each chunk once and in order.
func TestSequencerProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 40).Draw(t, "n")
		order := make([]int64, 0, 2*n)
		for i := range n {
			order = append(order, i)
			if rapid.Bool().Draw(t, "twice") {
				order = append(order, i)
			}
		}
		order = rapid.Permutation(order).Draw(t, "order")
		var q Sequencer
		next := int64(0)
		for _, seq := range order {
			due, err := q.Push(InputChunk{Seq: seq, Chunk: Text("x"), Final: seq == n-1})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range due {
				if d.Seq != next {
					t.Fatalf("%d came where %d was due", d.Seq, next)
				}
				next++
			}
			if q.Done() != (next == n) {
				t.Fatalf("done %v after %d of %d", q.Done(), next, n)
			}
		}
		if next != n || q.Held() != 0 || q.bytes != 0 {
			t.Fatalf("%d of %d came, %d held, %d bytes", next, n, q.Held(), q.bytes)
		}
	})
}

//
func TestOutputOrder(t *testing.T) {
	var o OutputOrder
	for i, c := range []struct {
		seq   int64
		final bool
		want  Verdict
	}{
		{0, false, ChunkTake}, {0, false, ChunkIgnore}, {1, false, ChunkTake}, {3, false, ChunkBroken},
		{-1, false, ChunkBroken}, {2, true, ChunkTake}, {2, true, ChunkIgnore}, {3, false, ChunkBroken},
	} {
		if got := o.Accept(c.seq, c.final); got != c.want {
			t.Errorf("step %d: %d, want %d", i, got, c.want)
		}
	}
	if !o.Finished() || o.Chunks() != 3 {
		t.Errorf("finished %v after %d", o.Finished(), o.Chunks())
	}
}
