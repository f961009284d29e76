package acmp

import (
	"testing"

	"signalbox/model/acmp"
)

// D-12: a provider says that it remembers its tasks over a restart where it keeps
// them on disk, in what a buyer reads of server/discover, and only there.
func TestTaskMemoryIsAdvertised(t *testing.T) {
	for _, kept := range []bool{true, false} {
		o := only(stream(1))()
		if kept {
			o.Data = t.TempDir()
		}
		p := newProvider(t, o)
		check := func(when string) {
			t.Helper()
			set := discovered(t, overHTTP(t, p))
			if set.Features.TaskMemory != kept {
				t.Errorf("%s, kept %v: advertised %v", when, kept, set.Features.TaskMemory)
			}
		}
		check("at start")
		if err := p.Reload(Config{Capabilities: o.Capabilities}); err != nil {
			t.Fatal(err)
		}
		check("after a reload")
	}
}

// discovered is the declaration as a buyer reads it.
func discovered(t *testing.T, c peer) *acmp.Settings {
	t.Helper()
	m := c.request(t, "server/discover", nil).answer(t)
	r := result[struct {
		Capabilities struct{ Extensions map[string]any }
	}](t, m)
	set, err := acmp.ReadSettings(r.Capabilities.Extensions)
	if err != nil || set == nil {
		t.Fatalf("%v: %s", err, m.raw)
	}
	return set
}
