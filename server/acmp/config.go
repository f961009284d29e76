package acmp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"signalbox/model/acmp"
)

// Config is the file of `provide --config`.
type Config struct {
	ProviderID        string        // default agent:signalbox:local
	HeartbeatInterval time.Duration // 0: no heartbeats
	Grace             time.Duration // 0: the default of [Options]
	OfferValid        time.Duration // how long a quote holds; default 5 s
	RefuseEscrow      bool          // refuse every escrow id: nobody here can verify one
	Capabilities      []Capability
}

// defaultProviderID names a provider whose configuration does not.
const defaultProviderID = "agent:signalbox:local"

// defaultOfferValid is how long a quote holds where the configuration says nothing.
const defaultOfferValid = 5 * time.Second

// What a configuration may be at most: a person writes it.
const (
	maxConfigBytes = 256 << 10
	maxConfigDepth = 64
)

// configFile is the form of the file.
type configFile struct {
	ProviderID   at[string]           `yaml:"provider_id"`
	Heartbeat    at[int64]            `yaml:"heartbeat_interval_ms"`
	Grace        at[int64]            `yaml:"disconnect_grace_ms"`
	OfferValid   at[int64]            `yaml:"offer_valid_ms"`
	Escrow       at[string]           `yaml:"escrow"`
	Capabilities at[[]capabilityFile] `yaml:"capabilities"`
}

type capabilityFile struct {
	line        int
	Name        at[string]   `yaml:"name"`
	Command     at[[]string] `yaml:"command"`
	Dir         at[string]   `yaml:"dir"`
	PriceCU     at[number]   `yaml:"price_cu"`
	Output      at[string]   `yaml:"output"`
	Stderr      at[string]   `yaml:"stderr"`
	Input       at[string]   `yaml:"input"`
	Progress    at[string]   `yaml:"progress"`
	TimeoutMS   at[int64]    `yaml:"timeout_ms"`
	MaxParallel at[int]      `yaml:"max_parallel"`
}

// LoadConfig reads a strict YAML file. Each error is one line that names the file
// and the line in it, and for an unknown key the one that may have been meant. A
// relative dir is taken from the folder of the file.
func LoadConfig(path string) (Config, error) {
	raw, err := ReadYAML(path)
	switch {
	case errors.As(err, new(*fs.PathError)):
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	case err != nil:
		return Config{}, err
	}
	c, err := parseConfig(raw, filepath.Dir(path))
	if err == nil {
		return c, nil
	}
	return Config{}, atLine(path, err)
}

func parseConfig(raw []byte, dir string) (Config, error) {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return Config{}, yamlProblem(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return Config{}, errors.New("the file must hold one YAML document with provider_id and capabilities")
	}
	var f configFile
	body := file.Docs[0].Body
	if err := checkKeys(body, "the configuration", "provider_id", "heartbeat_interval_ms", "disconnect_grace_ms", "offer_valid_ms", "escrow", "capabilities"); err != nil {
		return Config{}, err
	}
	if err := yaml.NodeToValue(body, &f, yaml.Strict()); err != nil {
		return Config{}, yamlProblem(err)
	}
	return f.config(dir)
}

func (f *configFile) config(dir string) (Config, error) {
	c := Config{ProviderID: f.ProviderID.v}
	if c.ProviderID == "" {
		c.ProviderID = defaultProviderID
	}
	var err error
	switch {
	case !validProviderID(c.ProviderID):
		return c, f.ProviderID.errorf("provider_id %q is not of the form agent:name:region", c.ProviderID)
	case len(f.Capabilities.v) == 0:
		return c, f.Capabilities.errorf("capabilities is empty: name at least one with name and command")
	}
	if c.HeartbeatInterval, err = f.Heartbeat.millis("heartbeat_interval_ms"); err != nil {
		return c, err
	}
	if c.Grace, err = f.Grace.millis("disconnect_grace_ms"); err != nil {
		return c, err
	}
	if c.OfferValid, err = f.OfferValid.millis("offer_valid_ms"); err != nil {
		return c, err
	}
	if c.OfferValid == 0 {
		c.OfferValid = defaultOfferValid
	}
	switch f.Escrow.v {
	case "", "unverified":
	case "refuse":
		c.RefuseEscrow = true
	default:
		return c, f.Escrow.errorf("escrow %q is not one of unverified, refuse", f.Escrow.v)
	}
	names := map[string]int{}
	for _, cf := range f.Capabilities.v {
		cap, err := cf.capability(dir)
		if err != nil {
			return c, err
		}
		if first, twice := names[cf.Name.v]; twice {
			return c, cf.Name.errorf("capability %q is named twice, first on line %d", cf.Name.v, first)
		}
		names[cf.Name.v] = cf.Name.line
		c.Capabilities = append(c.Capabilities, cap)
	}
	return c, nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *capabilityFile) UnmarshalYAML(n ast.Node) error {
	line := lineOf(n)
	err := checkKeys(n, "a capability", "name", "command", "dir", "price_cu", "output", "stderr", "input", "progress", "timeout_ms", "max_parallel")
	if err != nil {
		return err
	}
	type plain capabilityFile // without this method
	var p plain
	if err := yaml.NodeToValue(n, &p, yaml.Strict()); err != nil {
		return yamlProblem(err)
	}
	*c = capabilityFile(p)
	c.line = line
	return nil
}

func (c *capabilityFile) capability(dir string) (Capability, error) {
	var none Capability
	if c.Name.v == "" {
		return none, &lineError{c.line, "a capability has no name"}
	}
	if !validName(c.Name.v) {
		return none, c.Name.errorf("name %q %s", c.Name.v, nameForm)
	}
	cmd := &Command{Argv: c.Command.v, Dir: dir, Input: InputMode(c.Input.v), Output: OutputMode(c.Output.v), Stderr: StderrMode(c.Stderr.v)}
	if !c.Command.set || len(cmd.Argv) == 0 {
		return none, &lineError{max(c.Command.line, c.line), fmt.Sprintf("capability %q has no command", c.Name.v)}
	}
	var err error
	if cmd.Timeout, err = c.TimeoutMS.millis("timeout_ms"); err != nil {
		return none, err
	}
	if c.Progress.set {
		if cmd.Progress, err = regexp.Compile(c.Progress.v); err != nil {
			return none, c.Progress.errorf("progress is not a regular expression: %v", err)
		}
	}
	if err := c.setDir(cmd, dir); err != nil {
		return none, err
	}
	if c.PriceCU.set && acmp.ValidCU(json.Number(c.PriceCU.v)) != nil {
		return none, c.PriceCU.errorf("price_cu %q is not a decimal number of zero or more", c.PriceCU.v)
	}
	if c.MaxParallel.set && c.MaxParallel.v < 1 {
		return none, c.MaxParallel.errorf("max_parallel %d is not 1 or more; leave it out for no bound", c.MaxParallel.v)
	}
	if err := cmd.validate(); err != nil {
		return none, c.blame(err)
	}
	if err := cmd.find(); err != nil {
		return none, c.Command.errorf("%v", err)
	}
	return Capability{
		Info:        acmp.Capability{Name: c.Name.v, PriceCU: json.Number(c.PriceCU.v)},
		Command:     cmd,
		MaxParallel: c.MaxParallel.v,
	}, nil
}

// setDir makes dir absolute and sees that it is there.
func (c *capabilityFile) setDir(cmd *Command, base string) error {
	if !c.Dir.set || c.Dir.v == "" {
		cmd.Dir = "" // where the program was started
		return nil
	}
	cmd.Dir = c.Dir.v
	if !filepath.IsAbs(cmd.Dir) {
		cmd.Dir = filepath.Join(base, cmd.Dir)
	}
	abs, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return c.Dir.errorf("dir %q cannot be made absolute: %v", c.Dir.v, err)
	}
	cmd.Dir = abs
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return c.Dir.errorf("dir %q is not a folder", c.Dir.v)
	}
	return nil
}

// blame puts an error of the command on the line of the key it is about.
func (c *capabilityFile) blame(err error) error {
	line := c.line
	switch text := err.Error(); {
	case hasPrefix(text, "input"):
		line = c.Input.line
	case hasPrefix(text, "output"):
		line = c.Output.line
	case hasPrefix(text, "stderr"):
		line = c.Stderr.line
	case hasPrefix(text, "progress"):
		line = c.Progress.line
	case hasPrefix(text, "the command", "an argument"):
		line = c.Command.line
	}
	return &lineError{line, err.Error()}
}
