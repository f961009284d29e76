package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"signalbox/model/acmp"
	"signalbox/model/text"
)

func chunkOf(s string) *acmp.TaskEvent {
	return &acmp.TaskEvent{Kind: acmp.EventChunk, Chunk: acmp.Text(s)}
}

func bytesOf(s string) *acmp.TaskEvent {
	return &acmp.TaskEvent{Kind: acmp.EventChunk, Chunk: acmp.Bytes("application/octet-stream", []byte(s))}
}

func jsonOf(s string) *acmp.TaskEvent {
	return &acmp.TaskEvent{Kind: acmp.EventChunk, Chunk: acmp.Payload{Type: "json", Data: json.RawMessage(s)}}
}

func wholeOf(s string) *acmp.TaskEvent {
	p := acmp.Text(s)
	return &acmp.TaskEvent{Kind: acmp.EventResult, Result: &acmp.Result{Output: &p}}
}

var (
	againEvent  = &acmp.TaskEvent{Kind: acmp.EventResent, Attempt: 2}
	streamedEnd = &acmp.TaskEvent{Kind: acmp.EventResult, Result: &acmp.Result{OutputStreamed: true}}
)

// After a re-send the output goes on where it stopped, or fails.
func TestPlainOutputAfterResend(t *testing.T) {
	cases := map[string]struct {
		events []*acmp.TaskEvent
		want   string
		err    error
	}{
		"same":          {[]*acmp.TaskEvent{chunkOf("one "), chunkOf("tw"), againEvent, chunkOf("one t"), chunkOf("wo"), streamedEnd}, "one two", nil},
		"nothing yet":   {[]*acmp.TaskEvent{againEvent, chunkOf("a"), streamedEnd}, "a", nil},
		"twice":         {[]*acmp.TaskEvent{chunkOf("abc"), againEvent, chunkOf("a"), againEvent, chunkOf("abcd"), streamedEnd}, "abcd", nil},
		"other":         {[]*acmp.TaskEvent{chunkOf("one"), againEvent, chunkOf("oni"), streamedEnd}, "one", errReplay},
		"shorter":       {[]*acmp.TaskEvent{chunkOf("one"), againEvent, chunkOf("on"), streamedEnd}, "one", errReplay},
		"whole instead": {[]*acmp.TaskEvent{chunkOf("one"), wholeOf("one two")}, "one two", nil},
		"other whole":   {[]*acmp.TaskEvent{chunkOf("one"), wholeOf("two")}, "one", errReplay},
		"bytes":         {[]*acmp.TaskEvent{bytesOf("\x00\xff\x80a"), bytesOf("b\r\n"), againEvent, bytesOf("\x00\xff"), bytesOf("\x80ab\r\nc"), bytesOf(""), streamedEnd}, "\x00\xff\x80ab\r\nc", nil},
		"other bytes":   {[]*acmp.TaskEvent{bytesOf("\x00\xff"), againEvent, bytesOf("\x00\xfe"), streamedEnd}, "\x00\xff", errReplay},
		"json":          {[]*acmp.TaskEvent{jsonOf(`{"a":"b\u2028"}`), jsonOf(`1.50`), againEvent, jsonOf(`{"a":"b\u2028"}`), jsonOf(`1.50`), jsonOf(`null`), chunkOf(""), streamedEnd}, "{\"a\":\"b\\u2028\"}\n1.50\nnull\n", nil},
		"no base64":     {[]*acmp.TaskEvent{{Kind: acmp.EventChunk, Chunk: acmp.Payload{Type: "image/png", Data: json.RawMessage(`{"url":"x"}`)}}, streamedEnd}, "{\"url\":\"x\"}\n", nil},
	}
	for name, c := range cases {
		var b bytes.Buffer
		o := newPlainOutput(&b)
		var err error
		for _, ev := range c.events {
			if err = o.event(ev); err != nil {
				break
			}
		}
		if b.String() != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", name, b.String(), err)
		}
	}
}

// What the command printed is what stdout gets, byte for byte, in whatever mode
// the provider sends it and whether or not it is streamed.
func TestPlainOutputIsTheOutputAlone(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "all"), all, 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProvideWith(t, provideFile(t, "caps.yaml", `capabilities:
  - {name: bytes, command: [sh, -c, "cat all; sleep 0.2; cat all"], dir: `+dir+`, output: bytes}
  - {name: no-bytes, command: ["true"], output: bytes}
  - {name: text, command: [printf, 'a\r\n\303\251'], output: text}
  - {name: lines, command: [printf, 'a\r\n\303\251']}
  - {name: json, command: [printf, '{"a":1.50}\n\n[2]'], output: ndjson}
`))
	for name, want := range map[string]string{
		"bytes": string(all) + string(all), "no-bytes": "", "text": "a\r\n\u00e9", "lines": "a\r\n\u00e9", "json": "{\"a\":1.50}\n[2]\n",
	} {
		for _, stream := range []string{"--stream=true", "--stream=false"} {
			if name == "json" && stream == "--stream=false" {
				want = "[{\"a\":1.50},[2]]\n" // the values as one
			}
			got := runWith(t.Context(), "", invokeEnv(t), "invoke", name, stream, "--provider", "p="+p.url)
			if got.code != exitOK || got.stdout != want {
				t.Errorf("%s %s: code %d, stdout %q, stderr %q", name, stream, got.code, got.stdout, got.stderr)
			}
		}
	}
}

// B102, A-125: on a terminal nothing reaches it that could command it, and the
// line is ended.
func TestPlainOutputOnTerminal(t *testing.T) {
	var b bytes.Buffer
	o := newPlainOutput(&b)
	o.filter = &text.Filter{}
	for _, s := range []string{"a\x1b", "[2J\x1b]0;evil\x07b\u202e", "c\u009b2Jd"} {
		if err := o.event(chunkOf(s)); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.event(streamedEnd); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.ContainsAny(s, "\x1b\x07\u009b\u202e") || !strings.HasSuffix(s, "\n") {
		t.Errorf("%q", s)
	}
}

// B102: JSON lines hold no character that acts on a terminal.
func TestPlainASCII(t *testing.T) {
	in, _ := json.Marshal("\x1b \u009b \x7f \u202e é 東 👍 \u2028 \U000e0041")
	out := plainASCII(in)
	if bytes.ContainsAny(out, "\x1b\u009b\x7f\u202e\u2028\U000e0041") || !bytes.Contains(out, []byte("é 東 👍")) {
		t.Errorf("%s", out)
	}
	var a, b string
	if json.Unmarshal(in, &a) != nil || json.Unmarshal(out, &b) != nil || a != b {
		t.Errorf("%q became %q", a, b)
	}
}

// Input is never cut inside a character, whatever the reads.
func TestInputCutter(t *testing.T) {
	const s = "東京 👍🏽 “ok”\n"
	for name, r := range map[string]io.Reader{
		"one byte": iotest.OneByteReader(strings.NewReader(s)), "half": iotest.HalfReader(strings.NewReader(s)),
		"data with eof": iotest.DataErrReader(strings.NewReader(s)),
	} {
		c := newInputCutter(r, "text")
		var all []acmp.Payload
		for {
			p, final, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
			if final {
				break
			}
		}
		if got, _ := acmp.Assemble(all).Text(); got != s {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, _, err := newInputCutter(strings.NewReader("{oops"), "json").next(); err == nil {
		t.Error("broken JSON was taken")
	}
}

// Words are split as a shell would, and nothing else of a shell works.
func TestSplitWords(t *testing.T) {
	for in, want := range map[string][]string{
		`go test ./...`:          {"go", "test", "./..."},
		`sh -c 'a; b | c' "d e"`: {"sh", "-c", "a; b | c", "d e"},
		`a\ b $HOME`:             {"a b", "$HOME"},
	} {
		got, err := splitWords(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", in, err, diff)
		}
	}
	for _, in := range []string{"", "a; b", "a | b", "a > b", "'open", "(a)"} {
		if got, err := splitWords(in); err == nil {
			t.Errorf("%q gave %q", in, got)
		}
	}
}

// Providers of the config file: strict, with the place of each fault, tokens
// from their files.
func TestConfigProviders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("tok", "SECRET123\n")
	path := write("c.yaml", `theme: dark
providers:
  - name: a
    url: https://host/acmp
    token_file: tok
  - name: b
    command: agent --acmp 'x y'
    env: {LEVEL: "2"}
  - name: c
    command: [agent, "x y"]
`)
	g := &globals{config: path, providers: []string{"b=http://127.0.0.1:9/mcp"}}
	g.sys.Env = func(k string) string { return map[string]string{envBearerToken: "OTHER"}[k] }
	specs, err := g.loadProviders(false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range specs {
		got = append(got, s.Name+" "+s.Endpoint())
	}
	if diff := cmp.Diff([]string{"b http://127.0.0.1:9/mcp", "a https://host/acmp", "c stdio:agent x y"}, got); diff != "" {
		t.Error(diff)
	}
	if s := fmt.Sprintf("%+v", specs); strings.Contains(s, "SECRET123") || strings.Contains(s, "OTHER") {
		t.Error(s)
	}
	for content, want := range map[string]string{
		"providers:\n  - name: a\n    ulr: x\n":                              ":3:",
		"providers:\n  - name: a\n":                                          "either url or command",
		"providers:\n  - url: https://x/\n":                                  "needs a name",
		"providers:\n  - name: a\n    url: http://x/\n":                      "https://",
		"providers:\n  - name: a\n    url: https://x/\n    token_file: no\n": "token_file",
		"providers: [\n": "c.yaml:",
	} {
		g.config = write("c.yaml", content)
		if _, err := g.loadProviders(false); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", content, err)
		}
	}
	g.config = filepath.Join(dir, "missing.yaml")
	if _, err := g.loadProviders(false); err == nil {
		t.Error("a missing config was passed over")
	}
}

// What a provider tells in several lines is told in one, with marks between them.
func TestErrorInOneLine(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		"":                                   "no",
		"why":                                "no: why",
		"one\ntwo\r\n\n  three\u2028four\n":  "no: one; two; three; four",
		"\n\nlate\n":                         "no: late",
		"\x1b[2Jwiped\rover\n\x1b]0;title\a": "no: wiped; over",
	} {
		got := errorLine(&acmp.Error{Code: acmp.CodeInternal, Message: "no", Data: map[string]any{"detail": detail}})
		if !strings.HasSuffix(got, want) || strings.ContainsAny(got, "\n\r\x1b\u2424") {
			t.Errorf("%q is told as %q, want %q at the end", detail, got, want)
		}
	}
}
