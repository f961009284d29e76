package acmp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// RoleProvider is the role of a serving side in its declaration.
const RoleProvider = "provider"

var semver = regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$`)

// NewSettings builds the declaration of a provider: what it accepts and emits
// follows from its features.
func NewSettings(f Features) Settings {
	s := Settings{
		Version:  Version,
		Role:     RoleProvider,
		Accepts:  []string{MethodInvoke, MethodCancel},
		Emits:    []string{},
		Features: f,
	}
	if f.InputStreaming {
		s.Accepts = append(s.Accepts, MethodInputChunk)
	}
	if f.OutputStreaming {
		s.Emits = append(s.Emits, MethodStreamChunk)
	}
	if f.HeartbeatIntervalMS > 0 {
		s.Emits = append(s.Emits, MethodHeartbeat)
	}
	return s
}

// ReadSettings takes the declaration out of a capabilities.extensions map.
// Absent, it returns nil and no error: the server is plain MCP and gets no ACMP
// message. Unknown members are ignored, missing features are off
// an interval that is not a positive number of ms counts as none.
func ReadSettings(extensions map[string]any) (*Settings, error) {
	raw, ok := extensions[ExtensionID]
	if !ok || raw == nil {
		return nil, nil
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("the ACMP declaration cannot be read: %w", err)
	}
	var s Settings
	if err := Decode(b, &s); err != nil {
		return nil, fmt.Errorf("the ACMP declaration is not formed as it must be: %w", err)
	}
	s.Features.HeartbeatIntervalMS = max(s.Features.HeartbeatIntervalMS, 0)
	return &s, nil
}

// Usable reports whether this program can work with a provider that declares s:
// nil, or an error for a person. Versions 0.1.x are; with 0.x another minor
// counts as incompatible (A-020, D-22).
func (s *Settings) Usable() error {
	if s == nil {
		return fmt.Errorf("the server does not offer ACMP")
	}
	m := semver.FindStringSubmatch(s.Version)
	switch {
	case m == nil:
		return fmt.Errorf("the provider names no ACMP version that can be read; 0.1.x is needed")
	case m[1] != "0" || m[2] != "1":
		return fmt.Errorf("the provider speaks ACMP %s; 0.1.x is needed", m[0])
	case s.Role != RoleProvider:
		return fmt.Errorf("the server declares ACMP, but not as a provider")
	case !slices.Contains(s.Accepts, MethodInvoke):
		return fmt.Errorf("the provider does not accept %s", MethodInvoke)
	}
	return nil
}

// Interval is the advertised heartbeat interval; 0 when there is none.
func (s *Settings) Interval() time.Duration {
	if s == nil || s.Features.HeartbeatIntervalMS <= 0 {
		return 0
	}
	// A hostile value must not overflow into the past.
	return time.Duration(min(s.Features.HeartbeatIntervalMS, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
}

// Capability finds a served capability by name where the provider lists them.
func (s *Settings) Capability(name string) (Capability, bool) {
	if s != nil {
		for _, c := range s.Features.Capabilities {
			if c.Name == name {
				return c, true
			}
		}
	}
	return Capability{}, false
}

// Refuse tells whether p needs a feature that s does not advertise: a local
// -33007 that names it, so that nothing is sent, else nil.
func (s *Settings) Refuse(p *InvokeParams) *Error {
	var feature string
	switch {
	case s == nil:
		return &Error{Code: CodeFeatureUnsupported, Message: "the server does not offer ACMP", Local: true,
			Data: map[string]any{"task_id": p.TaskID, "feature": ExtensionID}}
	case p.Stream && !s.Features.OutputStreaming:
		feature = "output_streaming"
	case p.InputStream && !s.Features.InputStreaming:
		feature = "input_streaming"
	default:
		return nil
	}
	return &Error{
		Code:    CodeFeatureUnsupported,
		Message: "the provider does not offer " + strings.ReplaceAll(feature, "_", " "),
		Data:    map[string]any{"task_id": p.TaskID, "feature": feature},
		Local:   true,
	}
}
