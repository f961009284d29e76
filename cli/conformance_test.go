package cli

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// conformanceYAML is the provider under test; RUNS is a file that counts runs.
const conformanceYAML = `provider_id: agent:conformance:here
heartbeat_interval_ms: 200
capabilities:
  - {name: echo, command: [cat], output: text, price_cu: 0.25}
  - {name: lines, command: [sh, -c, "printf 'one\ntwo\nthree\n'"]}
  - {name: runs, command: [sh, -c, 'echo x >> "RUNS"; echo one; sleep 0.4; echo two'], price_cu: 0.10}
  - {name: slow, command: [sh, -c, "echo begun; exec sleep 97"]}
  - {name: ticks, command: [sh, -c, "for i in 1 2 3 4 5 6 7 8 9 10 11; do echo $i; sleep 0.1; done"]}
  - {name: alone, command: [sh, -c, "echo alone"], input: none}
  - {name: fail, command: [sh, -c, "echo because >&2; exit 3"]}
  - {name: noisy, command: [sh, -c, "head -c 300000 /dev/zero | tr '\\0' '\\377' >&2; cat"], output: text}
  - {name: json, command: [cat], output: ndjson}
`

// conformance is one case, named after the requirements it covers.
type conformance struct {
	name string
	test func(t *testing.T, w wire)
}

// TestConformance runs the suite of Part A against `signalbox provide` in a process of
// its own, over both transports, with messages written by hand. Throughout:
// no request comes from the provider, the response is the last message of its
// stream, nothing else is on stdout, and an empty clientCapabilities is
// enough.
func TestConformance(t *testing.T) {
	playsAtProcesses(t)
	t.Parallel()
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		config, cases := conformanceSetup(t)
		conform(t, httpWire{startProvideWith(t, config)}, cases)
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		config, cases := conformanceSetup(t)
		conform(t, startStdioWire(t, config), cases)
	})
}

// conformanceSetup writes the configuration of one provider under test and binds the
// cases to the file in which it counts its runs.
func conformanceSetup(t *testing.T) (config string, cases []conformance) {
	t.Helper()
	runs := filepath.Join(t.TempDir(), "runs")
	config = provideFile(t, "conformance.yaml", strings.ReplaceAll(conformanceYAML, "RUNS", runs))
	return config, append(conformanceCases(), conformance{
		"A-078 A-079 A-080 A-081 A-093 D-02 duplicates are one run and one price", func(t *testing.T, w wire) { duplicates(t, w, runs) }})
}

func conform(t *testing.T, w wire, cases []conformance) {
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) { c.test(t, w) })
	}
}

func conformanceCases() []conformance {
	return []conformance{
		{"A-007 A-008 A-009 A-010 A-011 A-012 A-013 A-042 A-153 declaration", declaration},
		{"A-057 A-069 A-086 A-088 A-089 A-090 A-092 A-118 A-119 A-120 A-121 stream then result", streamThenResult},
		{"A-040 A-064 A-071 A-087 stream false is one whole output", wholeOutput},
		{"A-001 A-002 A-004 A-066 A-096 price and ceiling", ceiling},
		{"A-046 A-063 A-065 A-067 A-075 A-076 what is unknown or null is let be", tolerance},
		{"A-060 A-061 A-062 A-072 A-074 A-095 A-097 A-101 A-102 A-104 D-08 D-09 refusals", refusals},
		{"A-091 A-158 D-19 proof of a whole and of a streamed output", proofs},
		{"A-003 A-073 D-18 an escrow id is taken unverified", escrow},
		{"A-022 A-044 A-077 tasks side by side", sideBySide},
		{"A-068 A-098 A-131 D-16 B33 the deadline holds, beats or not", deadline},
		{"A-099 A-137 A-138 A-139 A-142 B34 cancel", cancelling},
		{"A-140 D-14 a cancel overtakes its invoke", earlyCancel},
		{"A-106 A-109 A-110 A-113 A-114 A-115 A-116 A-157 B41 input in order", inputOrder},
		{"A-112 D-17 success waits for the final input chunk", withheld},
		{"A-014 A-126 A-128 A-129 A-130 heartbeats", beats},
		{"A-038 A-049 A-082 D-01 D-03 D-07 a lost caller comes back", comesBack},
		{"A-033 A-055 A-056 A-059 A-154 A-155 A-159 unknown methods", unknownMethods},
		{"A-041 B40 request ids come back unchanged", requestIDs},
		{"A-103 a failing command", failing},
		{"A-093 cancel races completion", races},
		{"B27 B38 long data and a flood on stderr", longData},
		{"A-006 layer 6 quote and acceptance", layerSix},
	}
}

func declaration(t *testing.T, w wire) {
	m := request(t, w, "server/discover", map[string]any{}).answer(t)
	var caps struct {
		Extensions map[string]struct {
			Version, Role  string
			Accepts, Emits []string
			Features       struct {
				OutputStreaming bool  `json:"output_streaming"`
				InputStreaming  bool  `json:"input_streaming"`
				Interval        int64 `json:"heartbeat_interval_ms"`
			}
		}
		ACMP any `json:"acmp"`
	}
	if err := json.Unmarshal(m.Result["capabilities"], &caps); err != nil {
		t.Fatalf("%v: %s", err, m.raw)
	}
	e := caps.Extensions["org.a2agora/acmp"]
	if e.Version != "0.1.0" || e.Role != "provider" || !e.Features.OutputStreaming || !e.Features.InputStreaming || e.Features.Interval != 200 || caps.ACMP != nil ||
		len(e.Accepts) != 3 || strings.Join(e.Emits, " ") != "acmp/streamChunk acmp/heartbeat" {
		t.Errorf("declaration %s", m.raw)
	}
	scope, ttl := string(m.Result["cacheScope"]), -1.0
	if err := json.Unmarshal(m.Result["ttlMs"], &ttl); err != nil || ttl < 0 || scope != `"public"` && scope != `"private"` ||
		string(m.Result["resultType"]) != `"complete"` || string(m.Result["supportedVersions"]) != `["2026-07-28"]` {
		t.Errorf("result %s", m.raw)
	}
}

func streamThenResult(t *testing.T, w wire) {
	task := wireTask()
	var got string
	var seq int64
	final := false
	ms := request(t, w, "acmp/invoke", invokeOf(task, "lines", map[string]any{"stream": true})).all(t)
	for _, m := range ms[:len(ms)-1] {
		if m.Params.TaskID != task {
			t.Errorf("of another task: %s", m.raw)
		}
		if m.Method != "acmp/streamChunk" {
			continue
		}
		if m.Params.Seq != seq || final || m.Params.Chunk.Type != "text" {
			t.Errorf("chunk %d: %s", seq, m.raw)
		}
		seq++
		final = m.Params.Final
		got += m.text()
	}
	r := ms[len(ms)-1].Result
	if got != "one\ntwo\nthree\n" || !final || string(r["task_id"]) != strconv.Quote(task) || string(r["output_streamed"]) != "true" || r["output"] != nil ||
		string(r["tokens_used"]) != "0" || string(r["cost_cu"]) != "0" || string(r["provider_id"]) != `"agent:conformance:here"` {
		t.Errorf("%q, final %v, %s", got, final, ms[len(ms)-1].raw)
	}
}

func wholeOutput(t *testing.T, w wire) {
	ms := invokeWire(t, w, "lines", nil).all(t)
	m := ms[len(ms)-1]
	for _, other := range ms[:len(ms)-1] {
		if other.Method == "acmp/streamChunk" {
			t.Errorf("a chunk: %s", other.raw)
		}
	}
	if string(m.Result["output"]) != `{"type":"text","data":"one\ntwo\nthree\n"}` || string(m.Result["resultType"]) != `"complete"` || string(m.Result["output_streamed"]) != "false" {
		t.Errorf("answer %s", m.raw)
	}
}

func ceiling(t *testing.T, w wire) {
	for price, code := range map[string]int{"0.25": 0, "0.250": 0, "1e3": 0, "0.24999999999999999999": -33001, "0": -33001} {
		m := invokeWire(t, w, "echo", map[string]any{"max_price_cu": json.RawMessage(price)}).answer(t)
		if m.code() != code || code == 0 && string(m.Result["cost_cu"]) != "0.25" {
			t.Errorf("%s: %s", price, m.raw)
		}
		if code != 0 && (string(m.Error.Data["min_price_cu"]) != "0.25" || m.Error.Data["detail"] == nil || m.Error.Data["task_id"] == nil) {
			t.Errorf("data: %s", m.raw)
		}
	}
	if m := invokeWire(t, w, "echo", nil).answer(t); m.code() != 0 {
		t.Errorf("no ceiling: %s", m.raw)
	}
}

func tolerance(t *testing.T, w wire) {
	m := invokeWire(t, w, "echo", map[string]any{
		"input":            map[string]any{"type": "text", "data": "\u6771\u4eac \U0001F44D\U0001F3FD \u201cok\u201d \u2028"},
		"input_tokens_est": int64(1) << 60, "preferred_tier": "B", "metadata": map[string]any{"x": []int{1}}, "future": true,
		"escrow_id": json.RawMessage("null"), "max_price_cu": json.RawMessage("null"), "stream": json.RawMessage("null")}).answer(t)
	var out struct{ Data string }
	if json.Unmarshal(m.Result["output"], &out); out.Data != "\u6771\u4eac \U0001F44D\U0001F3FD \u201cok\u201d \u2028" {
		t.Errorf("text: %s", m.raw)
	}
	for _, data := range []string{"null", `{"a":[1,2]}`, "1.50", `""`} {
		m := invokeWire(t, w, "json", map[string]any{"input": map[string]any{"type": "json", "data": json.RawMessage(data)}}).answer(t)
		if m.code() != 0 || data != `""` && !strings.Contains(string(m.Result["output"]), data) {
			t.Errorf("%s: %s", data, m.raw)
		}
	}
	if m := invokeWire(t, w, "alone", map[string]any{"input": map[string]any{"type": "x/y", "data": nil}}).answer(t); m.code() != 0 {
		t.Errorf("unknown type: %s", m.raw)
	}
}

func refusals(t *testing.T, w wire) {
	for _, tc := range []struct {
		capability string
		more       map[string]any
		code       int
		data       string
	}{
		{"nope", nil, -33002, "capability"},
		{"nope", map[string]any{"proof_method": "zk"}, -33002, "capability"},
		{"alone", map[string]any{"input_stream": true}, -33007, "feature"},
		{"echo", map[string]any{"proof_method": "zk", "max_price_cu": 0}, -33006, "proof_method"},
		{"echo", map[string]any{"max_price_cu": 0}, -33001, "min_price_cu"},
		{"echo", map[string]any{"input": nil}, -32602, "detail"},
		{"echo", map[string]any{"input": "hello"}, -32602, "detail"},
		{"echo", map[string]any{"timeout_ms": -1}, -32602, "detail"},
		{"", nil, -32602, "detail"},
	} {
		m := invokeWire(t, w, tc.capability, tc.more).answer(t)
		if m.code() != tc.code || m.Error.Data[tc.data] == nil || m.Error.Data["task_id"] == nil || m.Error.Message == "" {
			t.Errorf("%s %v: %s", tc.capability, tc.more, m.raw)
		}
	}
	for _, task := range []any{nil, "", 7} {
		if m := request(t, w, "acmp/invoke", invokeOf("x", "echo", map[string]any{"task_id": task})).answer(t); m.code() != -32602 {
			t.Errorf("task_id %v: %s", task, m.raw)
		}
	}
	task := wireTask() // a malformed invoke is not remembered
	request(t, w, "acmp/invoke", invokeOf(task, "echo", map[string]any{"input": nil})).answer(t)
	if m := request(t, w, "acmp/invoke", invokeOf(task, "echo", nil)).answer(t); m.code() != 0 {
		t.Errorf("after a malformed one: %s", m.raw)
	}
}

func proofs(t *testing.T, w wire) {
	whole := invokeWire(t, w, "lines", map[string]any{"proof_method": "result-hash"}).answer(t)
	streamed := invokeWire(t, w, "lines", map[string]any{"proof_method": "result-hash", "stream": true}).answer(t)
	var proof struct{ Method, Hash string }
	if err := json.Unmarshal(whole.Result["proof"], &proof); err != nil || proof.Method != "result-hash" || !strings.HasPrefix(proof.Hash, "sha256:") || len(proof.Hash) != 71 {
		t.Errorf("proof: %s", whole.raw)
	}
	if string(streamed.Result["proof"]) != string(whole.Result["proof"]) {
		t.Errorf("streamed: %s", streamed.raw)
	}
}

func escrow(t *testing.T, w wire) {
	if m := invokeWire(t, w, "echo", map[string]any{"escrow_id": "esc_1", "max_price_cu": 0.3}).answer(t); m.code() != 0 {
		t.Errorf("answer: %s", m.raw)
	}
	if m := invokeWire(t, w, "echo", map[string]any{"escrow_id": "esc_1", "max_price_cu": 0.2}).answer(t); m.code() != -33001 {
		t.Errorf("above the ceiling: %s", m.raw)
	}
}

func sideBySide(t *testing.T, w wire) {
	slow := wireTask()
	r := request(t, w, "acmp/invoke", invokeOf(slow, "slow", map[string]any{"stream": true}))
	r.chunk(t)
	if m := invokeWire(t, w, "lines", nil).answer(t); m.code() != 0 {
		t.Errorf("the fast one: %s", m.raw)
	}
	w.notify(t, "acmp/cancel", map[string]any{"task_id": slow})
	for _, m := range r.all(t) {
		if !m.response() && m.Params.TaskID != slow {
			t.Errorf("of another task: %s", m.raw)
		}
	}
}
