package ui_test

import (
	"os"
	"path/filepath"
	"testing"

	"signalbox/ui"
)

// docs/keys.md is what the key map says; SIGNALBOX_UPDATE=1 writes it anew.
func TestKeysDocIsFresh(t *testing.T) {
	path := filepath.Join("..", "docs", "keys.md")
	want := ui.KeysDoc()
	if os.Getenv("SIGNALBOX_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("docs/keys.md is not what the key map says (%v); run SIGNALBOX_UPDATE=1 go test ./ui -run KeysDoc", err)
	}
}
