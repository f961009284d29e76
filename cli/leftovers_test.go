package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A dashboard starts however many unfinished tasks of earlier runs lie in its
// folder, and says that it leaves them alone.
func TestStartWithThousandsOfLeftovers(t *testing.T) {
	t.Parallel()
	const tasks = pumpFacts + 300
	dir := t.TempDir()
	folder := filepath.Join(dir, "signalbox", "buyer", "tasks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range tasks {
		id := fmt.Sprintf("task_left_%05d", i)
		sum := sha256.Sum256([]byte(id))
		record := fmt.Sprintf(`{"provider":"gone","endpoint":"http://127.0.0.1:9/mcp","params":{"task_id":%q,"capability":"x"}}`, id)
		if err := os.WriteFile(filepath.Join(folder, hex.EncodeToString(sum[:16])+".task"), []byte(record), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newScreen(t, 120, 40, []string{"XDG_STATE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "TERM=xterm-256color"}, shellJoin([]string{binary(t)}))
	s.waitText("NEEDS YOU (0)", "local")
	s.keys("6")
	s.waitText("of an earlier run is left alone", "so are more tasks of earlier runs")
	s.keys("q")
}
