package acop

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml"

	core "signalbox/model/acop"
)

// AcceptMode says what accept does to a completed item (D-23).
type AcceptMode string

// The two accept modes; the zero value means AcceptOnly.
const (
	AcceptOnly       AcceptMode = "accept"
	AcceptAndConsume AcceptMode = "consume"
)

// Policy is how strictly and with which bounds the owner keeps its rules.
type Policy struct {
	AllowSelfAcceptance bool
	AcceptMode          AcceptMode
	// HoldOnRelease sends released items to released instead of ready (D-30).
	HoldOnRelease bool
	// ConsumeCompleted lets consume skip acceptance (completed -> consumed).
	ConsumeCompleted bool
	// MaxTTLSeconds bounds every lease, in seconds; longer wishes are clamped.
	MaxTTLSeconds int64
	// IntentTTL is how long a request waits for a lead.
	IntentTTL time.Duration
	// AttemptsLimit is how many leases in a row may run out before an item is
	// blocked; negative means no limit.
	AttemptsLimit int
}

// Config is the file of `serve --config`. The zero value means the defaults.
type Config struct {
	GrantMode           core.GrantMode   `yaml:"grant_mode"`
	Rules               []core.GrantRule `yaml:"rules"`
	AllowSelfAcceptance bool             `yaml:"allow_self_acceptance"`
	AcceptMode          AcceptMode       `yaml:"accept_mode"`
	HoldOnRelease       bool             `yaml:"hold_on_release"`
	ConsumeCompleted    bool             `yaml:"consume_completed"`
	MaxTTLSeconds       int64            `yaml:"max_ttl_seconds"`
	IntentTTLSeconds    int64            `yaml:"intent_ttl_seconds"`
	AttemptsLimit       int              `yaml:"attempts_limit"`
	RateLimit           RateLimit        `yaml:"rate_limit"`
	MaxBodyBytes        int64            `yaml:"max_body_bytes"`
	// Tokens names a tokens file, as --tokens does.
	Tokens string `yaml:"tokens"`
	// TLS names certificate files, as the --tls flags do.
	TLS TLSFiles `yaml:"tls"`
	// OIDC says whose identity tokens are taken besides Tokens.
	OIDC OIDCConfig `yaml:"oidc"`
	// Compat opens the second mount for clients that do not speak the binding
	// exactly.
	Compat bool `yaml:"compat"`
}

// RateLimit bounds the requests of one identity.
type RateLimit struct {
	PerSecond float64 `yaml:"per_second"`
	Burst     int     `yaml:"burst"`
}

// The defaults of Config.
const (
	defaultMaxTTL        = 86_400
	defaultIntentTTL     = 15 * 60
	defaultAttemptsLimit = 5
	defaultMaxBody       = 1 << 20
	defaultPerSecond     = 500
	defaultBurst         = 2000
)

// LoadConfig reads a strict YAML file. Errors name file and line.
func LoadConfig(path string) (Config, error) {
	var c Config
	b, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the configuration: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(b, &c, yaml.Strict()); err != nil {
		return c, yamlError(path, err)
	}
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Check says what is wrong with c, before anything is opened for it; nil for nothing.
func (c *Config) Check() error { return c.check() }

func (c *Config) check() error {
	if c.GrantMode != "" && !c.GrantMode.Valid() {
		return fmt.Errorf("grant_mode must be auto, lead or rules, not %q", c.GrantMode)
	}
	for i, r := range c.Rules {
		if err := checkRule(r); err != nil {
			return fmt.Errorf("rules[%d]: %w", i, err)
		}
	}
	switch c.AcceptMode {
	case "", AcceptOnly, AcceptAndConsume:
	default:
		return fmt.Errorf("accept_mode must be accept or consume, not %q", c.AcceptMode)
	}
	if c.MaxTTLSeconds < 0 || c.MaxTTLSeconds > 1<<31 || c.IntentTTLSeconds < 0 || c.MaxBodyBytes < 0 {
		return errors.New("max_ttl_seconds, intent_ttl_seconds and max_body_bytes must be positive")
	}
	if c.RateLimit.PerSecond < 0 || c.RateLimit.Burst < 0 {
		return errors.New("rate_limit must be positive")
	}
	if err := c.TLS.check(); err != nil {
		return err
	}
	return c.OIDC.check()
}

func checkRule(r core.GrantRule) error {
	if r.WorkKind != "" && !r.WorkKind.Valid() {
		return fmt.Errorf("unknown work_kind %q", r.WorkKind)
	}
	if r.Priority != "" && !r.Priority.Valid() {
		return fmt.Errorf("unknown priority %q", r.Priority)
	}
	switch r.Then {
	case thenAuto, thenLead, thenDeny:
		return nil
	}
	return fmt.Errorf("then must be auto, lead or deny, not %q", r.Then)
}

// withDefaults fills what the file left out.
func (c Config) withDefaults() Config {
	if c.GrantMode == "" {
		c.GrantMode = core.GrantAuto
	}
	if c.MaxTTLSeconds == 0 {
		c.MaxTTLSeconds = defaultMaxTTL
	}
	if c.IntentTTLSeconds == 0 {
		c.IntentTTLSeconds = defaultIntentTTL
	}
	if c.AttemptsLimit == 0 {
		c.AttemptsLimit = defaultAttemptsLimit
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = defaultMaxBody
	}
	if c.RateLimit.PerSecond == 0 {
		c.RateLimit.PerSecond = defaultPerSecond
	}
	if c.RateLimit.Burst == 0 {
		c.RateLimit.Burst = defaultBurst
	}
	return c
}

func (c Config) policy() Policy {
	return Policy{
		AllowSelfAcceptance: c.AllowSelfAcceptance, AcceptMode: c.AcceptMode, HoldOnRelease: c.HoldOnRelease,
		ConsumeCompleted: c.ConsumeCompleted, MaxTTLSeconds: c.MaxTTLSeconds,
		IntentTTL: time.Duration(c.IntentTTLSeconds) * time.Second, AttemptsLimit: c.AttemptsLimit,
	}
}

// settings are the ones in force until a lead changes them.
func (c Config) settings() core.Settings {
	return core.Settings{GrantMode: c.GrantMode, Rules: c.Rules}
}

// foreign are keys of the file that others like this have, and what stands for
// them here.
var foreign = map[string]string{
	`unknown field "event_retention"`: "event_retention is not a setting: an owner keeps its whole history; " +
		"stop it and leave old history behind with signalbox compact --keep",
	`unknown field "cluster"`: "cluster is not a setting: one owner runs alone and is the only one to write to its log",
}

// yamlError names file and line and never quotes the source: it may hold a token.
func yamlError(path string, err error) error {
	var ye yaml.Error
	if errors.As(err, &ye) {
		if why, known := foreign[ye.GetMessage()]; known {
			return fmt.Errorf("%s:%d: %s", path, ye.GetToken().Position.Line, why)
		}
		if t := ye.GetToken(); t != nil && t.Position != nil {
			return fmt.Errorf("%s:%d: %s", path, t.Position.Line, ye.GetMessage())
		}
		return fmt.Errorf("%s: %s", path, ye.GetMessage())
	}
	return fmt.Errorf("%s: %w", path, err)
}
