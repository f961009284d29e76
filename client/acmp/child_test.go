package acmp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"signalbox/model/acmp"
)

// childVar makes the test binary a provider on stdio; its value is the role.
const childVar = "ACMP_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVar); role != "" {
		runChild(role)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beginChild does what a role does before it reads anything.
func beginChild(role string) {
	switch role {
	case "noisy":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 200<<10)+"\xff")
		os.Stdout.WriteString("ready on stdio\n\n\xc3\x28\n{\"broken\n")
	case "glued":
		os.Stdout.WriteString("cache warm {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		grandchild := exec.Command("sleep", "1000")
		_ = grandchild.Start()
		_ = os.WriteFile(os.Getenv("PID_FILE"), []byte(strconv.Itoa(grandchild.Process.Pid)), 0o600)
	case "once":
		// The second life does not get as far as an answer.
		if mark := os.Getenv("PID_FILE"); exists(mark) {
			os.Exit(4)
		} else {
			_ = os.WriteFile(mark, nil, 0o600)
		}
	case "fails":
		fmt.Fprintln(os.Stderr, "first line\nno licence found")
		os.Exit(4)
	}
}

// runChild answers raw lines as role says.
func runChild(role string) {
	switch role {
	case "relay":
		runRelay()
		return
	case "unsynced":
		runUnsynced(os.Getenv("PID_FILE"))
		return
	}
	beginChild(role)
	say := func(format string, a ...any) { fmt.Printf(format+"\n", a...) }
	in := bufio.NewReader(os.Stdin)
	input := ""
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if role == "stubborn" {
				select {}
			}
			return
		}
		var req wireRequest
		_ = json.Unmarshal([]byte(line), &req)
		w := &answerWriter{req: req}
		switch req.Method {
		case "server/discover":
			if role == "glued" {
				continue // that was its answer
			}
			settings := strings.ReplaceAll(settingsJSON(0), "\n", "")
			if os.Getenv("MEMORY") != "" {
				settings = strings.Replace(settings, `"features":{`, `"features":{"task_memory":true,`, 1)
			}
			say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"org.a2agora/acmp":%s}},"ttlMs":0,"cacheScope":"private"}}`,
				req.ID, settings)
			if role == "stuck" {
				select {}
			}
		case acmp.MethodInvoke:
			childInvoke(role, w, say)
		case acmp.MethodInputChunk:
			var c acmp.InputChunk
			_ = json.Unmarshal(req.Params, &c)
			input += string(c.Chunk.Raw())
			if mark := os.Getenv("PID_FILE"); strings.HasSuffix(input, "die") && !exists(mark) {
				_ = os.WriteFile(mark, nil, 0o600)
				os.Exit(3)
			}
			if c.Final {
				w.req.Params, w.req.ID = req.Params, json.RawMessage(os.Getenv("LAST_ID"))
				say("%s", chunkJSON(c.TaskID, 0, input, true))
				say("%s", w.resultJSON(`"output_streamed":true`))
			}
		case acmp.MethodOfferRequest:
			if req.capability() == "silence" {
				continue
			}
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
		case acmp.MethodCancel:
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-33004,"message":"Task cancelled"}}`, os.Getenv("LAST_ID"))
		}
	}
}

func childInvoke(role string, w *answerWriter, say func(string, ...any)) {
	id := w.req.taskID()
	os.Setenv("LAST_ID", string(w.req.ID))
	switch role {
	case "flood":
		out := bufio.NewWriterSize(os.Stdout, 32<<10)
		writeChunks(out, "", "\n", id, benchCount(w.req))
		_ = out.Flush()
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	case "huge":
		big := chunkJSON(id, 0, strings.Repeat("y", 3<<20), true)
		if w.req.capability() == "result" {
			big = w.resultJSON(`"task_id":"-","output":{"type":"text","data":"` + strings.Repeat("y", 3<<20) + `"}`)
		}
		say("%s", big)
		return
	case "dies":
		// The first life breaks off in the middle.
		if mark := os.Getenv("PID_FILE"); !exists(mark) {
			_ = os.WriteFile(mark, nil, 0o600)
			say("%s", chunkJSON(id, 0, "lost", false))
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		}
	case "waits", "reads":
		return
	case "late":
		if os.Getenv("SECOND") == "" {
			os.Setenv("SECOND", "yes")
			say("%s", chunkJSON(id, 0, "old", false))
			return
		}
		say("%s", chunkJSON(id, 1, "old", false))
		say("%s", chunkJSON(id, 2, "old", true))
		say("%s", chunkJSON(id, 0, "hel", false))
		say("%s", chunkJSON(id, 1, "lo", true))
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	case "env":
		say("%s", chunkJSON(id, 0, strings.Join(os.Environ(), "\n")+strings.Join(os.Args, " "), true))
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	case "noisy":
		os.Stdout.WriteString("{\"a\":\xff\xfe}\r\n")
		say("%s\r", strings.Replace(chunkJSON(id, 0, "SEP bad", false), "SEP", "\u2028", 1))
		os.Stdout.WriteString(strings.Repeat("y", 3<<20) + "\n")
		say("%s", strings.Replace(chunkJSON(id, 1, "BYTE", true), "BYTE", "a\xffb", 1))
		say("%s", w.resultJSON(`"output_streamed":true`))
		return
	}
	say("%s", chunkJSON(id, 0, "hello", true))
	say("%s", w.resultJSON(`"output_streamed":true`))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// childBuyer starts a buyer with the test binary as its provider.
func childBuyer(t *testing.T, role string, change func(*Options)) (*Buyer, *recorder, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	b, rec := newBuyer(t, "", func(o *Options) {
		o.Providers[0].Command = []string{exe, "an argument"}
		o.Providers[0].Env = []string{childVar + "=" + role, "PID_FILE=" + file}
		if change != nil {
			change(o)
		}
	})
	return b, rec, file
}
