package acop

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestHealthTellsTheVersion: whoever looks for a fault learns which build answers.
func TestHealthTellsTheVersion(t *testing.T) {
	t.Parallel()
	b := newBox(t, func(o *Options) { o.Version = "v1.2.3" })
	for _, path := range []string{"/healthz", "/readyz"} {
		resp, err := http.Get(b.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got struct {
			Version string `json:"version"`
			Status  string `json:"status"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Version != "v1.2.3" || got.Status != "ok" {
			t.Errorf("%s: %v %+v", path, err, got)
		}
	}
}
