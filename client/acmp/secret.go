package acmp

import (
	"maps"
	"slices"
	"strings"

	"signalbox/model/acmp"
)

// A provider knows our token, and may say it back in what a person reads or what is
// kept: an error, a detail, a line of its log. It is taken out there. The
// output of a task is left as it is: it belongs to the work.

// minHidden is the length, in bytes, below which a token is found in words by chance.
const minHidden = 4

// hide gives text with each token in it replaced.
func (s Secret) hide(text string) string {
	token := s.value()
	if len(token) < minHidden || !strings.Contains(text, token) {
		return text
	}
	return strings.ReplaceAll(text, token, s.String())
}

// hideIn takes the token out of all that ev tells besides output.
func (s Secret) hideIn(ev *acmp.TaskEvent) {
	if s.IsZero() || ev.Kind == acmp.EventChunk {
		return
	}
	ev.Detail = s.hide(ev.Detail)
	ev.Err = s.hideError(ev.Err)
	if ev.Result != nil && ev.Result.ProviderID != s.hide(ev.Result.ProviderID) {
		res := *ev.Result
		res.ProviderID = s.hide(res.ProviderID)
		ev.Result = &res
	}
}

// hideError gives e without the token; e may be nil and is not changed.
func (s Secret) hideError(e *acmp.Error) *acmp.Error {
	if e == nil || s.IsZero() {
		return e
	}
	out := *e
	out.Message = s.hide(e.Message)
	if e.Data != nil {
		out.Data, _ = s.hideAny(e.Data).(map[string]any)
	}
	return &out
}

// hideAny is hide for decoded JSON, names of members included.
func (s Secret) hideAny(v any) any {
	switch v := v.(type) {
	case string:
		return s.hide(v)
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = s.hideAny(v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[s.hide(name)] = s.hideAny(v[name])
		}
		return out
	}
	return v
}
