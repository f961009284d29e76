package cli

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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
	code := m.Run()
	if builtDir != "" {
		_ = os.RemoveAll(builtDir)
	}
	os.Exit(code)
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
