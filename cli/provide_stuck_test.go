package cli

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A provider on stdio ends at SIGTERM in its time, also where the program that started
// it does not read what it writes.
func TestProvideEndsThoughNobodyReads(t *testing.T) {
	t.Parallel()
	const config = "capabilities:\n  - name: flood\n    command: [\"yes\"]\n"
	cmd := exec.Command(binary(t), "provide", "--stdio", "--config", provideFile(t, "caps.yaml", config))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	invoke := strings.Replace(rawInvoke("task_flood", "flood"), `"timeout_ms":60000`, `"timeout_ms":1000`, 1)
	if _, err := io.WriteString(in, invoke+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "task_flood") {
		t.Fatalf("%v: %s", err, line)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _, _ = cmd.Process.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(3 * (provideFinish + provideFlush)):
		t.Error("it does not end")
	}
}
