package acmp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signalbox/model/acmp"
)

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "caps.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// the form of provider_id; all there is in a file.
func TestConfig(t *testing.T) {
	path := writeConfig(t, `# all there is
provider_id: agent:workshop:local
heartbeat_interval_ms: 1000
disconnect_grace_ms: 5000
capabilities:
  - name: run-tests
    command: ["go", "test", "./..."]
    dir: .
    price_cu: 0.0020
    output: ndjson
    stderr: merge
    input: arg
    progress: '(\d+)%'
    timeout_ms: 600000
    max_parallel: 2
  - name: plain
    command: [cat]
`)
	c, err := LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.ProviderID != "agent:workshop:local" || c.HeartbeatInterval != time.Second || c.Grace != 5*time.Second || len(c.Capabilities) != 2 {
		t.Errorf("config %+v", c)
	}
	a, cmd := c.Capabilities[0], c.Capabilities[0].Command
	if a.Info != (acmp.Capability{Name: "run-tests", PriceCU: "0.0020"}) || a.MaxParallel != 2 || cmd.Dir != filepath.Dir(path) ||
		cmd.Output != OutputNDJSON || cmd.Stderr != StderrMerge || cmd.Input != InputArg || cmd.Timeout != 10*time.Minute || cmd.Progress == nil || len(cmd.Argv) != 3 {
		t.Errorf("first %+v %+v", a, cmd)
	}
	if b := c.Capabilities[1].Command; b.Output != OutputLines || b.Stderr != StderrMerge || b.Input != InputStdin {
		t.Errorf("second %+v", b)
	}
}

// Every key of a file that is read again counts from then on, those of layer 6 and of
// escrow too.
func TestReloadTakesTheWholeFile(t *testing.T) {
	needShell(t)
	load := func(head string) Config {
		t.Helper()
		c, err := LoadConfig(writeConfig(t, head+"capabilities:\n  - {name: work, command: [sh, -c, exit], input: none, price_cu: 0.5}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	was := load("heartbeat_interval_ms: 1000\ndisconnect_grace_ms: 1000\noffer_valid_ms: 600000\nescrow: refuse\n")
	p := newProvider(t, Options{ProviderID: was.ProviderID, HeartbeatInterval: was.HeartbeatInterval, Grace: was.Grace, OfferValid: was.OfferValid,
		RefuseEscrow: was.RefuseEscrow, Capabilities: was.Capabilities})
	c := overHTTP(t, p)
	state := func() string {
		t.Helper()
		task, _, bad := p.find(acmp.InvokeParams{TaskID: taskID(), Capability: "work", TimeoutMS: 1000}, "somebody")
		if bad != nil {
			t.Fatal(bad)
		}
		task.refuse(cancelledError(task.id, "only looked at"))
		offer := result[acmp.Offer](t, c.request(t, acmp.MethodOfferRequest, map[string]any{"capability": "work"}).answer(t))
		escrow := c.request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), map[string]any{"escrow_id": "esc"})).code(t)
		return fmt.Sprint(discovered(t, c).Features.HeartbeatIntervalMS, " ", task.grace, " ", time.Until(offer.ValidUntil()).Round(time.Minute), " ", escrow)
	}
	if got := state(); got != "1000 1s 10m0s -33005" {
		t.Errorf("at start: %s", got)
	}
	for head, want := range map[string]string{
		"heartbeat_interval_ms: 500\ndisconnect_grace_ms: 2000\noffer_valid_ms: 300000\n": "500 2s 5m0s 0",
		"":                 "0 30s 0s 0",
		"escrow: refuse\n": "0 30s 0s -33005",
	} {
		if err := p.Reload(load(head)); err != nil {
			t.Fatal(err)
		}
		if got := state(); got != want {
			t.Errorf("%q: %s, want %s", head, got, want)
		}
	}
}

// Every malformed configuration is one line with file and line number.
func TestBadConfigs(t *testing.T) {
	const head = "provider_id: agent:a:b\ncapabilities:\n  - name: x\n    command: [cat]\n"
	for _, tc := range []struct {
		name, text string
		line       int
		says       string
	}{
		{"empty", "", 1, "provider_id and capabilities"},
		{"only a comment", "# nothing\n", 1, "provider_id and capabilities"},
		{"a list", "- a\n", 1, "keys and values"},
		{"a word", "cat\n", 1, "keys and values"},
		{"two documents", head + "---\n" + head, 1, "one YAML document"},
		{"unknown key", "provider_idd: agent:a:b\n", 1, `did you mean "provider_id"?`},
		{"unknown key far", head + "colour: red\n", 5, "known are provider_id"},
		{"unknown capability key", head + "    comand: [cat]\n", 5, `did you mean "command"?`},
		{"key twice", head + "    name: y\n", 5, "name"},
		{"bad provider id", "provider_id: workshop\ncapabilities:\n  - {name: x, command: [cat]}\n", 1, "agent:name:region"},
		{"no capabilities", "provider_id: agent:a:b\n", 1, "capabilities"},
		{"empty capabilities", "provider_id: agent:a:b\ncapabilities: []\n", 2, "capabilities is empty"},
		{"capabilities a word", "capabilities: cat\n", 1, "list of capabilities"},
		{"no name", "capabilities:\n  - command: [cat]\n", 2, "no name"},
		{"no command", "capabilities:\n  - name: x\n", 2, `"x" has no command`},
		{"command a text", "capabilities:\n  - name: x\n    command: go test ./...\n", 3, "never given to a shell"},
		{"command empty", "capabilities:\n  - name: x\n    command: []\n", 3, "no command"},
		{"name twice", head + "  - name: x\n    command: [cat]\n", 5, "named twice, first on line 3"},
		{"bad output", head + "    output: xml\n", 5, "lines, ndjson, text, bytes"},
		{"bad input", head + "    input: file\n", 5, "stdin, arg, none"},
		{"bad stderr", head + "    stderr: drop\n", 5, "merge, tail"},
		{"no such program", "capabilities:\n  - name: x\n    command: [/nonexistent/cmd]\n", 3, `"/nonexistent/cmd" of command cannot be run: there is no such file`},
		{"program not installed", "capabilities:\n  - name: x\n    command:\n      - signalbox-no-such-program\n", 4, `"signalbox-no-such-program" of command is not found in PATH`},
		{"program not in dir", "capabilities:\n  - name: x\n    dir: .\n    command: [./run]\n", 4, `"./run" of command cannot be run in dir: there is no such file`},
		{"program a folder", "capabilities:\n  - name: x\n    command: [/]\n", 3, "cannot be run"},
		{"program not executable", "capabilities:\n  - name: x\n    dir: .\n    command: [./caps.yaml]\n", 4, "not executable"},
		{"argument a number", "capabilities:\n  - name: x\n    command: [\"echo\", 5, null]\n", 3, "word 2 of command is 5, which YAML takes for a value and not for text: write it in quotes"},
		{"argument null", "capabilities:\n  - name: x\n    command:\n      - echo\n      - null\n", 5, "word 2 of command is empty"},
		{"argument absent", "capabilities:\n  - name: x\n    command:\n      - echo\n      -\n", 5, "word 2 of command is empty"},
		{"argument a truth", "capabilities:\n  - name: x\n    command: [echo, true]\n", 3, "word 2 of command is true"},
		{"argument a fraction", "capabilities:\n  - name: x\n    command: [echo, 1.50]\n", 3, "word 2 of command is 1.50"},
		{"argument infinite", "capabilities:\n  - name: x\n    command: [echo, .inf]\n", 3, "word 2 of command is .inf"},
		{"argument a list", "capabilities:\n  - name: x\n    command: [echo, [a]]\n", 3, "word 2 of command is not text"},
		{"argument a map", "capabilities:\n  - name: x\n    command: [echo, {a: b}]\n", 3, "word 2 of command is not text"},
		{"argument with NUL", "capabilities:\n  - name: x\n    command: [echo, \"a\\0b\"]\n", 3, "NUL"},
		{"name a number", "capabilities:\n  - name: 010\n    command: [cat]\n", 2, "name must be text"},
		{"name a list", "capabilities:\n  - name: [x]\n    command: [cat]\n", 2, "name must be text"},
		{"name with a control", "capabilities:\n  - name: \"a\\eb\"\n    command: [cat]\n", 2, `name "a\x1bb" is not a name`},
		{"name with a line end", "capabilities:\n  - command: [cat]\n    name: \"a\\nb\"\n", 3, "is not a name"},
		{"name that turns around", "capabilities:\n  - name: \"a\u202eb\"\n    command: [cat]\n", 2, `"a\u202eb" is not a name`},
		{"name of blanks", "capabilities:\n  - name: \"  \"\n    command: [cat]\n", 2, "is not a name"},
		{"name too long", "capabilities:\n  - name: " + strings.Repeat("x", 201) + "\n    command: [cat]\n", 2, "is"},
		{"provider id with a control", "provider_id: \"agent:a\\eb:c\"\n" + "capabilities:\n  - {name: x, command: [cat]}\n", 1, "agent:name:region"},
		{"key with a control", head + "    \"a\\eb\": 1\n", 5, `has no key "a\x1bb"`},
		{"key very long", strings.Repeat("k", 100_000) + ": 1\n", 1, "has no key"},
		{"bad progress", head + "    progress: '('\n", 5, "regular expression"},
		{"progress without group", head + "    progress: 'x'\n", 5, "no group"},
		{"bad timeout", head + "    timeout_ms: -1\n", 5, "timeout_ms"},
		{"timeout a word", head + "    timeout_ms: soon\n", 5, "timeout_ms must be a whole number"},
		{"bad parallel", head + "    max_parallel: 0\n", 5, "max_parallel"},
		{"bad price", head + "    price_cu: cheap\n", 5, "price_cu"},
		{"negative price", head + "    price_cu: -0.1\n", 5, "price_cu"},
		{"no such dir", head + "    dir: /no/such/folder\n", 5, "not a folder"},
		{"bad escrow", "escrow: maybe\n" + head, 1, `escrow "maybe" is not one of unverified, refuse`},
		{"grace a word", "disconnect_grace_ms: soon\n" + head, 1, "disconnect_grace_ms must be a whole number"},
		{"grace negative", "disconnect_grace_ms: -5\n" + head, 1, "disconnect_grace_ms -5 is not a number of milliseconds above 0"},
		{"offer zero", "offer_valid_ms: 0\n" + head, 1, "offer_valid_ms 0 is not"},
		{"beat zero", "heartbeat_interval_ms: 0\n" + head, 1, "heartbeat_interval_ms"},
		{"beat fraction", "heartbeat_interval_ms: 1.5\n" + head, 1, "heartbeat_interval_ms must be a whole number"},
		{"tab", "capabilities:\n\t- name: x\n", 2, ""},
		{"not closed", "capabilities: [\n", 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := writeConfig(t, tc.text)
			_, err := LoadConfig(path)
			if err == nil {
				t.Fatal("it was taken")
			}
			text := err.Error()
			if want := fmt.Sprintf("%s:%d: ", path, tc.line); !strings.HasPrefix(text, want) || !strings.Contains(text, tc.says) || strings.ContainsAny(text, "\n\x1b\u202e") || len(text) > 1200 {
				t.Errorf("error %q, want %q with %q", text, want, tc.says)
			}
		})
	}
	if _, err := LoadConfig(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("missing file: %v", err)
	}
}

// B104 in spirit: what a decoder might never finish is refused at once.
func TestHostileConfigs(t *testing.T) {
	t.Parallel()
	const head = "provider_id: agent:a:b\ncapabilities:\n  - name: x\n    command: [cat]\n"
	laughs := "a: &a [x]\n"
	for i := range 12 {
		c := string(rune('a' + i))
		n := string(rune('b' + i))
		laughs += n + ": &" + n + " [*" + c + strings.Repeat(", *"+c, 9) + "]\n"
	}
	for name, text := range map[string]string{
		"anchors":   laughs,
		"alias":     head + "x: *nobody\n",
		"itself":    "capabilities: &a\n  - *a\n",
		"merge":     head + "  - <<: {name: y}\n",
		"brackets":  "capabilities: " + strings.Repeat("[", 100_000),
		"dashes":    strings.Repeat("- ", 100_000),
		"long":      head + "# " + strings.Repeat("x", 2<<20),
		"quote":     head + "dir: \"" + strings.Repeat("x", 1000),
		"binary":    "\x00\xff\xfe\x01",
		"directive": "%YAML 9.9\n---\n" + head,
	} {
		done := make(chan error, 1)
		path := writeConfig(t, text)
		go func() { _, err := LoadConfig(path); done <- err }()
		select {
		case err := <-done:
			if name != "directive" && (err == nil || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(patience):
			t.Errorf("%s: not done", name)
		}
	}
}

// Any other file of YAML is judged before it is read as well, and one without an end
// not to it.
func TestCheckFile(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 100_000),
		"dashes":   strings.Repeat("- ", 100_000),
		"long":     "# " + strings.Repeat("x", 2<<20),
		"alias":    "- &a x\n- *a\n",
	} {
		path := writeConfig(t, text)
		if err := CheckFile(path); err == nil || !strings.HasPrefix(err.Error(), path+":1: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		for name, err := range map[string]error{"CheckFile": CheckFile("/dev/zero"), "LoadConfig": func() error { _, err := LoadConfig("/dev/zero"); return err }()} {
			if err == nil || !strings.HasPrefix(err.Error(), "/dev/zero:1: ") {
				t.Errorf("%s of a file without an end: %v", name, err)
			}
		}
	}
	for _, path := range []string{writeConfig(t, "- identity: alice\n"), t.TempDir(), "/no/such/file"} {
		if err := CheckFile(path); err != nil {
			t.Error(err)
		}
	}
}

// Where a program is looked up: PATH for a word alone, dir for a relative path.
func TestFindProgram(t *testing.T) {
	t.Parallel()
	needShell(t)
	dir := t.TempDir()
	for _, name := range []string{"run", filepath.Join("bin", "run")} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho ran\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for program, found := range map[string]bool{"sh": true, "run": false, "./run": true, "bin/run": true, "./bin": false, "../run": false, filepath.Join(dir, "run"): true} {
		cmd := &Command{Argv: []string{program}, Dir: dir, Input: InputNone}
		err := cmd.find()
		p := newProvider(t, Options{Capabilities: []Capability{{Info: acmp.Capability{Name: "work"}, Command: cmd}}})
		m := overHTTP(t, p).request(t, acmp.MethodInvoke, invokeParamsOf(taskID(), nil)).answer(t)
		if (err == nil) != found || (m.Result != nil) != found {
			t.Errorf("%s: %v, run: %s", program, err, m.raw)
		}
	}
}
