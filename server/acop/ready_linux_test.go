package acop

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadyTellsOfAFullDisk takes an owner out of the list of the ready ones while
// its log takes no writes, and puts it back by itself when there is space; it is
// alive and answers reads all the time.
func TestReadyTellsOfAFullDisk(t *testing.T) {
	b := newBox(t, nil)
	b.close()
	if err := syscall.Mount("tmpfs", b.dir, "tmpfs", 0, "size=6m"); err != nil {
		b.open()
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() {
		b.close()
		if err := syscall.Unmount(b.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	b.open()
	page := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(b.http.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(raw)
	}
	b.put("first", nil, nil)
	if status, raw := page("/readyz"); status != 200 {
		t.Fatalf("an owner that writes is not ready: %d %s", status, raw)
	}
	ballast := filepath.Join(b.dir, "ballast")
	f, err := os.Create(ballast)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("x", 50_000)
	refused := false
	for i := 0; i < 100 && !refused; i++ {
		r := b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem(fmt.Sprint("more-", i), m{"summary": big})}))
		refused = r.status == 503
	}
	if !refused {
		t.Fatal("a full file system took everything")
	}
	status, raw := page("/readyz")
	if status != 503 || !strings.Contains(raw, "no writes") || !strings.Contains(raw, "backend_unavailable") {
		t.Errorf("the log takes no writes, and the owner is ready: %d %s", status, raw)
	}
	if status, _ := page("/healthz"); status != 200 {
		t.Errorf("an owner that answers reads is not alive: %d", status)
	}
	if v := b.samples()["signalbox_log_takes_writes"]; v != 0 {
		t.Errorf("the metrics say that writes are taken: %v", v)
	}
	b.want(b.do("GET", "work-items/first", "reader-01", nil), 200, "")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the owner takes writes again", func() bool {
		r := b.do("PUT", "work-items", "lead-01", body(m{"work_item": workItem("again", nil)}))
		return r.status == 201 || r.status == 200
	})
	if status, raw := page("/readyz"); status != 200 {
		t.Errorf("it writes again and is not ready: %d %s", status, raw)
	}
	if v := b.samples()["signalbox_log_takes_writes"]; v != 1 {
		t.Errorf("the metrics say that no writes are taken: %v", v)
	}
}
