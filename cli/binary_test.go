package cli

import (
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// builtDir holds the real binary that the tests of this package run; TestMain
// removes it.
var builtDir string

func TestMain(m *testing.M) {
	if where := os.Getenv(bombEnv); where != "" {
		os.Exit(runBomb(where))
	}
	// Most tests here wait, for processes, terminals and leases, more than they
	// compute. A -parallel on the command line wins.
	_ = flag.Set("test.parallel", "8")
	heedSignals()
	code := m.Run()
	if builtDir != "" {
		_ = os.RemoveAll(builtDir)
	}
	os.Exit(code)
}

// heedSignals lets the programs that tests start be ended by signals also where this
// one was started with them ignored, as a shell starts what runs in the background and
// nohup anything: a child inherits what is ignored, but not what is caught.
func heedSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "signalbox-test-")
	if err != nil {
		return "", err
	}
	builtDir = dir
	bin := filepath.Join(dir, "signalbox")
	cmd := exec.Command("go", "build", "-o", bin, "signalbox")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: "go build: " + string(out), Err: err}
	}
	return bin, nil
})

// binary is the path of the program, built once from the present source.
func binary(t *testing.T) string {
	t.Helper()
	bin, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// playsAtProcesses leaves a long test out of a short run: nearly all it does is done
// by processes of their own, which the race detector in this one does not see.
func playsAtProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("plays at processes of their own for a long time")
	}
}
