package acmp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// membership follows from the features.
func TestNewSettings(t *testing.T) {
	for bits := range 8 {
		f := Features{OutputStreaming: bits&1 != 0, InputStreaming: bits&2 != 0}
		if bits&4 != 0 {
			f.HeartbeatIntervalMS = 1000
		}
		s := NewSettings(f)
		if s.Version != "0.1.0" || s.Role != "provider" || s.Usable() != nil {
			t.Errorf("%+v: %v", s, s.Usable())
		}
		has := []bool{
			slices.Contains(s.Emits, MethodStreamChunk), slices.Contains(s.Accepts, MethodInputChunk),
			slices.Contains(s.Emits, MethodHeartbeat), slices.Contains(s.Accepts, MethodInvoke), slices.Contains(s.Accepts, MethodCancel),
		}
		if want := []bool{bits&1 != 0, bits&2 != 0, bits&4 != 0, true, true}; !slices.Equal(has, want) {
			t.Errorf("%+v: %v, want %v", f, has, want)
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "heartbeat_interval_ms") != (bits&4 != 0) || strings.Contains(string(raw), "null") {
			t.Errorf("%s", raw)
		}
	}
}

//
func TestSettingsGolden(t *testing.T) {
	raw, err := json.Marshal(NewSettings(Features{OutputStreaming: true, InputStreaming: true, HeartbeatIntervalMS: 2000}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":"0.1.0","role":"provider","accepts":["acmp/invoke","acmp/cancel","acmp/inputChunk"],` +
		`"emits":["acmp/streamChunk","acmp/heartbeat"],` +
		`"features":{"output_streaming":true,"input_streaming":true,"heartbeat_interval_ms":2000}}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
}

// D-22.
func TestReadSettings(t *testing.T) {
	read := func(doc string) (*Settings, error) {
		var ext map[string]any
		if err := json.Unmarshal([]byte(doc), &ext); err != nil {
			t.Fatal(err)
		}
		return ReadSettings(ext)
	}
	for _, c := range []struct{ name, doc, usable string }{
		{"whole", `{"org.a2agora/acmp":{"version":"0.1.7","role":"provider","accepts":["acmp/invoke"],"future":1,"features":{"warp":true}}}`, ""},
		{"no features", `{"org.a2agora/acmp":{"version":"0.1.0","role":"provider","accepts":["acmp/invoke"]}}`, ""},
		{"absent", `{"acmp":{"version":"0.1.0"}}`, "does not offer ACMP"},
		{"null", `{"org.a2agora/acmp":null}`, "does not offer ACMP"},
		{"minor", `{"org.a2agora/acmp":{"version":"0.2.0","role":"provider","accepts":["acmp/invoke"]}}`, "speaks ACMP 0.2.0"},
		{"major", `{"org.a2agora/acmp":{"version":"1.0.0","role":"provider","accepts":["acmp/invoke"]}}`, "speaks ACMP 1.0.0"},
		{"no version", `{"org.a2agora/acmp":{"role":"provider","accepts":["acmp/invoke"]}}`, "names no ACMP version"},
		{"buyer", `{"org.a2agora/acmp":{"version":"0.1.0","role":"buyer","accepts":["acmp/invoke"]}}`, "not as a provider"},
		{"no invoke", `{"org.a2agora/acmp":{"version":"0.1.0","role":"provider","accepts":[]}}`, "does not accept"},
	} {
		s, err := read(c.doc)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		err = s.Usable()
		if (err == nil) != (c.usable == "") || err != nil && !strings.Contains(err.Error(), c.usable) {
			t.Errorf("%s: %v, want %q", c.name, err, c.usable)
		}
	}
	if _, err := read(`{"org.a2agora/acmp":{"version":7}}`); err == nil {
		t.Error("a version that is no string was read")
	}
	s, err := read(`{"org.a2agora/acmp":{"version":"0.1.0","features":{"heartbeat_interval_ms":-5}}}`)
	if err != nil || s.Interval() != 0 {
		t.Errorf("a negative interval is none: %v, %v", s, err)
	}
	s, err = read(`{"org.a2agora/acmp":{"version":"0.1.0","features":{"heartbeat_interval_ms":9000000000000000000}}}`)
	if err != nil || s.Interval() <= 0 || Window(s.Interval()) <= 0 {
		t.Errorf("a huge interval overflows: %v, %v", s, err)
	}
}

// refused here, with the feature's name.
func TestRefuse(t *testing.T) {
	plain := NewSettings(Features{})
	full := NewSettings(Features{OutputStreaming: true, InputStreaming: true})
	for _, c := range []struct {
		s       *Settings
		p       InvokeParams
		feature string
	}{
		{&plain, InvokeParams{}, ""},
		{&plain, InvokeParams{Stream: true}, "output_streaming"},
		{&plain, InvokeParams{InputStream: true}, "input_streaming"},
		{&full, InvokeParams{Stream: true, InputStream: true}, ""},
		{nil, InvokeParams{}, ExtensionID},
	} {
		e := c.s.Refuse(&c.p)
		if (e == nil) != (c.feature == "") {
			t.Errorf("%+v: %v", c.p, e)
			continue
		}
		if e != nil && (e.Code != CodeFeatureUnsupported || !e.Local || e.Data["feature"] != c.feature) {
			t.Errorf("%+v: %+v", c.p, e)
		}
	}
}

// D-08.
func TestDecodeInvoke(t *testing.T) {
	ok := `"task_id":"t","capability":"c","input":{"type":"text","data":"x"}`
	for _, c := range []struct{ name, params, detail string }{
		{"least", `{` + ok + `}`, ""},
		{"null data", `{"task_id":"t","capability":"c","input":{"type":"x/y","data":null}}`, ""},
		{"unknown members", `{` + ok + `,"metadata":{"a":1},"_meta":{}}`, ""},
		{"null is absent", `{` + ok + `,"max_price_cu":null,"timeout_ms":null,"stream":null,"escrow_id":null}`, ""},
		{"input stream", `{"task_id":"t","capability":"c","input_stream":true}`, ""},
		{"absurd estimate", `{` + ok + `,"input_tokens_est":-9}`, ""},
		{"no task_id", `{"capability":"c","input":{"type":"text","data":"x"}}`, "task_id is missing"},
		{"task_id number", `{"task_id":7,"capability":"c"}`, "task_id has the wrong type"},
		{"no capability", `{"task_id":"t","input":{"type":"text","data":"x"}}`, "capability is missing"},
		{"no input", `{"task_id":"t","capability":"c"}`, "input is missing"},
		{"null input", `{"task_id":"t","capability":"c","input":null}`, "input is missing"},
		{"no type", `{"task_id":"t","capability":"c","input":{"data":1}}`, "input.type is missing"},
		{"no data", `{"task_id":"t","capability":"c","input":{"type":"text"}}`, "input.data is missing"},
		{"negative timeout", `{` + ok + `,"timeout_ms":-1}`, "timeout_ms is negative"},
		{"negative price", `{` + ok + `,"max_price_cu":-0.1}`, "max_price_cu"},
		{"array", `[]`, "must be an object"},
		{"nothing", ``, "must be an object"},
		{"broken", `{"task_id":"t"`, "cannot be read"},
		{"long id", `{"task_id":"` + strings.Repeat("t", 2000) + `","capability":"c","input_stream":true}`, "longer than"},
	} {
		p, e := DecodeInvoke(json.RawMessage(c.params))
		if (e == nil) != (c.detail == "") {
			t.Errorf("%s: %v", c.name, e)
			continue
		}
		if e == nil {
			if p.OutputTypeOrDefault() != "json" {
				t.Errorf("%s: output type %q", c.name, p.OutputTypeOrDefault())
			}
			continue
		}
		detail, _ := e.Data["detail"].(string)
		if e.Code != CodeInvalidParams || !strings.Contains(detail, c.detail) || strings.Contains(detail, "json:") {
			t.Errorf("%s: %d %q", c.name, e.Code, detail)
		}
		if c.name == "no capability" && e.Data["task_id"] != "t" {
			t.Errorf("%s: the task is not named", c.name)
		}
	}
}

// what is not set is left out.
func TestInvokeWireForm(t *testing.T) {
	raw, err := json.Marshal(InvokeParams{TaskID: "t", Capability: "c", Input: &Payload{Type: "text", Data: json.RawMessage(`"x"`)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"task_id":"t","capability":"c","input":{"type":"text","data":"x"}}`; string(raw) != want {
		t.Errorf("%s", raw)
	}
}

func TestErrorText(t *testing.T) {
	if got := (&Error{Code: CodeTimeout, Message: "too late"}).Error(); got != "timeout (-33003): too late" {
		t.Error(got)
	}
	unsupported := &Error{Code: CodeFeatureUnsupported, Message: "Feature unsupported", Data: map[string]any{"feature": "input_streaming"}}
	if got := unsupported.Error(); got != "feature_unsupported (-33007): Feature unsupported: input_streaming" {
		t.Error(got)
	}
	unsupported.Data["feature"] = strings.Repeat("x", 5000)
	if got := unsupported.Error(); got != "feature_unsupported (-33007): Feature unsupported" {
		t.Error(got)
	}
	if got := (&Error{Code: -33050, Message: "odd"}).Error(); got != "error -33050: odd" {
		t.Error(got)
	}
}
