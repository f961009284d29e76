package cli

import (
	"strings"
	"testing"

	"signalbox/model/acmp"
)

// TestInvokeNamesWhatThereIs: a capability that a provider does not have is told with
// those that it has, the likeliest first.
func TestInvokeNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	one, other := servedProvider(t), servedProvider(t)
	for name, args := range map[string][]string{
		"one provider":      {"--provider", "p=" + one},
		"several providers": {"--provider", "p=" + one, "--provider", "q=" + other},
		"chosen":            {"--provider", "p=" + one, "--provider", "q=" + other, "--on", "q"},
	} {
		got := runWith(t.Context(), "", invokeEnv(t), append([]string{"invoke", "lnies"}, args...)...)
		if got.code == exitOK || !strings.Contains(got.stderr, "lines, ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", name, got.code, got.stderr)
		}
	}
}

// TestOtherCapabilities: no more are named than a sentence bears.
func TestOtherCapabilities(t *testing.T) {
	t.Parallel()
	list := func(names ...string) *acmp.Settings {
		s := &acmp.Settings{}
		for _, n := range names {
			s.Features.Capabilities = append(s.Features.Capabilities, acmp.Capability{Name: n})
		}
		return s
	}
	for _, tt := range []struct {
		sets []*acmp.Settings
		want string
	}{
		{[]*acmp.Settings{nil}, ""},
		{[]*acmp.Settings{list()}, ""},
		{[]*acmp.Settings{list("lint", "test")}, ""}, // it is there
		{[]*acmp.Settings{list("lint", "zoo"), list("tset", "lint")}, "tset, lint, zoo"},
		{[]*acmp.Settings{list(strings.Split("abcdefghijk", "")...)}, "e, a, b, c, d, f, g, h and 3 more"},
		{[]*acmp.Settings{list("te\x1b[2Jst")}, `te\u001b[2Jst`},
	} {
		if got := otherCapabilities("test", tt.sets...); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
