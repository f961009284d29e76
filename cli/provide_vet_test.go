package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The lines of `go vet ./...` in a real module, which it prints on standard error,
// are what `signalbox invoke` prints, and its exit code is told.
func TestProvideStreamsGoVet(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/vetted\n\ngo 1.24\n",
		"a.go":   "package vetted\n\n// F does nothing.\nfunc F(x int) int {\n\tx = x\n\treturn x\n}\n",
		"caps.yaml": "provider_id: agent:vet:here\ncapabilities:\n" +
			"  - {name: vet, command: [go, vet, ./...], dir: ., input: none}\n" +
			"  - {name: quiet, command: [go, vet, ./...], dir: ., input: none, stderr: tail}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := startProvideWith(t, filepath.Join(dir, "caps.yaml"))
	const finding = "a.go:5:2: self-assignment of x"
	for name, streamed := range map[string]bool{"vet": true, "quiet": false} {
		got := runWith(t.Context(), "", invokeEnv(t), "invoke", name, "--provider", "p="+p.url)
		if got.code != exitFailed || strings.Contains(got.stdout, finding+"\n") != streamed || !strings.Contains(got.stderr, finding) || !strings.Contains(got.stderr, "exit status 1") {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, got.code, got.stdout, got.stderr)
		}
	}
}
