package acop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfigFile takes every key of the file and tells what is wrong with a
// line, also of keys that this owner has no use for.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	load := func(text string) (Config, error) {
		path := filepath.Join(t.TempDir(), "owner.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig(path)
		return c, err
	}
	c, err := load(`grant_mode: rules
rules: [{work_kind: review, then: lead}]
allow_self_acceptance: true
accept_mode: consume
hold_on_release: true
consume_completed: true
max_ttl_seconds: 3600
intent_ttl_seconds: 60
attempts_limit: 3
rate_limit: {per_second: 5, burst: 10}
max_body_bytes: 4096
tokens: tokens.yaml
tls: {cert: c.pem, key: k.pem}
compat: true
`)
	if err != nil {
		t.Fatal(err)
	}
	p := c.withDefaults().policy()
	if !p.AllowSelfAcceptance || p.AcceptMode != AcceptAndConsume || !p.HoldOnRelease || !p.ConsumeCompleted || p.MaxTTLSeconds != 3600 ||
		p.IntentTTL.Seconds() != 60 || p.AttemptsLimit != 3 || c.RateLimit != (RateLimit{5, 10}) || c.MaxBodyBytes != 4096 || !c.Compat ||
		c.Tokens != "tokens.yaml" || c.TLS.Cert != "c.pem" || len(c.Rules) != 1 {
		t.Errorf("read as %+v", c)
	}
	for text, want := range map[string]string{
		"grant_mode: auto\nevent_retention: 720h\n": "owner.yaml:2: event_retention is not a setting: an owner keeps its whole history; stop it and leave old history behind with signalbox compact --keep",
		"cluster: {peers: [a, b]}\n":                "owner.yaml:1: cluster is not a setting: one owner runs alone",
		"grant_mode: auto\n\nmax_ttl: 4\n":          `owner.yaml:3: unknown field "max_ttl"`,
		"grant_mode: manual\n":                      `grant_mode must be auto, lead or rules, not "manual"`,
		"rules: [{then: maybe}]\n":                  `rules[0]: then must be auto, lead or deny, not "maybe"`,
		"rules: [{work_kind: x, then: lead}]\n":     `rules[0]: unknown work_kind "x"`,
		"rules: [{priority: x, then: lead}]\n":      `rules[0]: unknown priority "x"`,
		"accept_mode: never\n":                      `accept_mode must be accept or consume, not "never"`,
		"max_ttl_seconds: -1\n":                     "must be positive",
		"rate_limit: {burst: -1}\n":                 "rate_limit must be positive",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
