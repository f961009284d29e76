package acmp

import "testing"

// A failed command is told by its exit status and its last words, anything else by
// what the provider said beside the message, or by the message.
func TestBrief(t *testing.T) {
	for detail, want := range map[string]string{
		"":              "internal (-33099): Internal provider error",
		"exit status 1": "exit status 1",
		"exit status 2\nok one\n\nmake: *** [test] Error 2\n": "exit status 2: make: *** [test] Error 2",
		" \n": "internal (-33099): Internal provider error",
	} {
		e := &Error{Code: CodeInternal, Message: "Internal provider error", Data: map[string]any{"detail": detail}}
		if got := e.Brief(); got != want {
			t.Errorf("%q is told as %q, want %q", detail, got, want)
		}
	}
	e := &Error{Code: CodeInternal, Message: "x", Data: map[string]any{"detail": 7}}
	if e.Detail() != "" {
		t.Errorf("%q", e.Detail())
	}
}
