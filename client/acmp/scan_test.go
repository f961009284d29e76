package acmp

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"signalbox/model/acmp"
)

// What the quick scan takes is what the decoder would have read; what it leaves
// alone is everything else.
func TestScanAgreesWithDecoder(t *testing.T) {
	usual := `{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"t","seq":7,"chunk":{"type":"text","data":"a"},"final":true}}`
	with := func(old, repl string) string { return strings.Replace(usual, old, repl, 1) }
	cases := map[string]struct {
		raw  string
		take bool
	}{
		"usual":          {usual, true},
		"spaces":         {" \t" + strings.ReplaceAll(strings.ReplaceAll(usual, ":", " : "), ",", "\r\n, ") + "\n", true},
		"other order":    {`{"params":{"final":false,"chunk":{"data":null,"type":"x/y"},"seq":0,"task_id":"t"},"method":"acmp/streamChunk","jsonrpc":"2.0"}`, true},
		"json data":      {with(`"a"`, `{"a":[1,{"b":"]}"}],"c":null}`), true},
		"number data":    {with(`"a"`, `-1.5e3`), true},
		"escapes":        {with(`"a"`, `"\"\\\/\b\f\n\r\t\u00e9\ud83d"`), true},
		"empty data":     {with(`"a"`, `""`), true},
		"escaped id":     {with(`"t"`, `"\u0074"`), false},
		"fraction":       {with(`7`, `7.0`), false},
		"leading zero":   {with(`7`, `07`), false},
		"negative":       {with(`7`, `-7`), false},
		"beyond 2^53":    {with(`7`, `9007199254740993`), true},
		"too long":       {with(`7`, `1234567890123456789`), false},
		"twice":          {with(`"seq":7`, `"seq":7,"seq":8`), false},
		"extra member":   {with(`"seq":7`, `"seq":7,"x":1`), false},
		"with an id":     {with(`"method"`, `"id":1,"method"`), false},
		"no type":        {with(`"type":"text",`, ``), false},
		"empty type":     {with(`"text"`, `""`), false},
		"no data":        {with(`,"data":"a"`, ``), false},
		"heartbeat":      {with(`streamChunk`, `heartbeat`), false},
		"bad escape":     {with(`"a"`, `"\x"`), false},
		"bad value":      {with(`"a"`, `[1,}`), false},
		"bad word":       {with(`"a"`, `nul`), false},
		"control":        {with(`"a"`, "\"a\nb\""), false},
		"trailing":       {usual + "1", false},
		"trailing comma": {with(`true}`, `true,}`), false},
		"cut":            {usual[:len(usual)-1], false},
		"empty":          {"", false},
		"final is text":  {with(`true`, `"true"`), false},
		"other version":  {with(`2.0`, `1.0`), false},
	}
	for name, c := range cases {
		var s chunkScan
		if got := s.scan([]byte(c.raw)); got != c.take {
			t.Errorf("%s: taken %t, want %t", name, got, c.take)
		}
		if c.take {
			agree(t, c.raw, &s)
		}
	}
}

func agree(t *testing.T, raw string, s *chunkScan) {
	t.Helper()
	var want struct {
		Params acmp.StreamChunk `json:"params"`
	}
	if err := json.Unmarshal([]byte(raw), &want); err != nil {
		t.Errorf("%q was taken: %v", raw, err)
		return
	}
	p := want.Params
	if p.TaskID != string(s.taskID) || p.Seq != s.seq || p.Final != s.final || p.Chunk.Type != string(s.typ) || string(p.Chunk.Data) != string(s.data) {
		t.Errorf("%q: %+v, want %+v", raw, s, p)
	}
}

// Whatever bytes are changed, cut or put in, the scan takes nothing that the
// decoder reads otherwise.
func TestScanOfDamage(t *testing.T) {
	usual := `{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"t","seq":12,"chunk":{"type":"json","data":{"a":["\u00e9",1.5,true]}},"final":false}}`
	rnd := rand.New(rand.NewPCG(1, 2))
	const alphabet = `"\{}[]:,0123456789.-eu tfn/` + "\n\x01\u00e9"
	for range 50_000 {
		b := []byte(usual)
		for range 1 + rnd.IntN(3) {
			switch i := rnd.IntN(len(b)); rnd.IntN(3) {
			case 0:
				b[i] = alphabet[rnd.IntN(len(alphabet))]
			case 1:
				b = append(b[:i], b[i+1:]...)
			default:
				b = append(b[:i], append([]byte{alphabet[rnd.IntN(len(alphabet))]}, b[i:]...)...)
			}
		}
		var s chunkScan
		if s.scan(validUTF8(b)) {
			agree(t, string(validUTF8(b)), &s)
		}
	}
}

// FuzzScan holds the scan against the decoder.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"acmp/streamChunk","params":{"task_id":"t","seq":7,"chunk":{"type":"text","data":"a"},"final":true}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = validUTF8(b)
		var s chunkScan
		if s.scan(b) {
			agree(t, string(b), &s)
		}
	})
}
