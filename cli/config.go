package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"signalbox/model/fleet"
	provider "signalbox/server/acmp"
	"signalbox/ui"
	"signalbox/ui/theme"
)

// config is the file of --config, read by the dashboard, the demo and invoke. The
// zero value means the defaults. What it does not know is an error: a setting
// with a slip in its name would be silently without effect.
type config struct {
	Theme       string            `yaml:"theme"`        // auto, dark, light, high-contrast
	ASCII       bool              `yaml:"ascii"`        //
	Mouse       string            `yaml:"mouse"`        // on, off
	Notify      notify            `yaml:"notify"`       // off, bell, osc, or a command
	NotifyFloor string            `yaml:"notify_floor"` // low, medium, high, critical
	OnAsk       words             `yaml:"on_ask"`
	Keys        map[string]keys   `yaml:"keys"`
	Providers   []providerConfig  `yaml:"providers"`
	Transcripts transcriptsConfig `yaml:"transcripts"`
	path        string            // "" = there is no file
}

// notify is a word, or a command as a list of words.
type notify struct {
	how     string // "", off, bell, osc, command
	command []string
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (n *notify) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&n.command) == nil {
		n.how = "command"
		return nil
	}
	var how word
	err := how.UnmarshalYAML(unmarshal)
	n.how = string(how)
	return err
}

// word is a string for which YAML's own on and off may stand without quotes.
type word string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (w *word) UnmarshalYAML(unmarshal func(any) error) error {
	var b bool
	if unmarshal(&b) == nil {
		*w = "off"
		if b {
			*w = "on"
		}
		return nil
	}
	return unmarshal((*string)(w))
}

// keys are the keys of one action: one of them, or a list.
type keys []string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (k *keys) UnmarshalYAML(unmarshal func(any) error) error {
	var list []string
	if unmarshal(&list) == nil {
		*k = list
		return nil
	}
	var one string
	if err := unmarshal(&one); err != nil {
		return err
	}
	*k = keys{one}
	return nil
}

// configPath is the file of --config, which must exist, or the usual one, which
// need not.
func (g *globals) configPath() (path string, given bool) {
	if g.config != "" {
		return g.config, true
	}
	return g.defaultConfig(), false
}

func (g *globals) defaultConfig() string {
	if dir := g.sys.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "signalbox", "config.yaml")
	}
	return filepath.Join(xdg.ConfigHome, "signalbox", "config.yaml")
}

// loadConfig reads the whole file strictly. An error is one line that begins with
// file and line.
func (g *globals) loadConfig() (config, error) {
	path, given := g.configPath()
	raw, err := provider.ReadYAML(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !given:
		return config{}, nil
	case errors.As(err, new(*fs.PathError)):
		return config{}, fmt.Errorf("config: %w", err)
	case err != nil:
		return config{}, err
	}
	return parseConfig(path, raw)
}

func parseConfig(path string, raw []byte) (config, error) {
	var c config
	if err := yaml.UnmarshalWithOptions(raw, &c, yaml.Strict()); err != nil {
		return config{}, configError(path, err)
	}
	c.path = path // last: an empty document resets the rest
	if at, err := c.check(); err != nil {
		return config{}, fmt.Errorf("%s:%d: %w", path, lineOf(raw, at...), err)
	}
	return c, nil
}

// check says what is wrong with the values, and the keys that lead to it.
func (c *config) check() (at []string, err error) {
	for _, w := range []struct {
		key, value string
		allowed    []string
	}{
		{"theme", c.Theme, []string{string(theme.Auto), string(theme.Dark), string(theme.Light), string(theme.HighContrast)}},
		{"mouse", c.Mouse, []string{"on", "off"}},
		{"notify", c.Notify.how, []string{"off", "bell", "osc", "command"}},
		{"notify_floor", c.NotifyFloor, severities()},
	} {
		if w.value != "" && !slices.Contains(w.allowed, w.value) {
			return []string{w.key}, fmt.Errorf("%s: %q is none of %s", w.key, w.value, strings.Join(w.allowed, ", "))
		}
	}
	if c.Notify.how == "command" && (len(c.Notify.command) == 0 || c.Notify.command[0] == "") {
		return []string{"notify"}, errors.New("notify: a command needs to be listed: notify: [notify-send, signalbox]")
	}
	if key, err := c.Transcripts.check(); err != nil {
		return []string{"transcripts", key}, err
	}
	err = ui.CheckKeys(c.bound())
	var ke *ui.KeyError
	if errors.As(err, &ke) {
		return []string{"keys", ke.Action}, err
	}
	return nil, err
}

func severities() []string {
	var out []string
	for s := fleet.SeverityLow; s <= fleet.SeverityCritical; s++ {
		out = append(out, s.String())
	}
	return out
}

// floor is the severity below which no ask makes itself known.
func (c *config) floor() fleet.Severity {
	if i := slices.Index(severities(), c.NotifyFloor); i >= 0 {
		return fleet.Severity(i)
	}
	return fleet.SeverityMedium
}

// bound are the keys by action.
func (c *config) bound() map[string][]string {
	out := make(map[string][]string, len(c.Keys))
	for id, k := range c.Keys {
		out[id] = k
	}
	return out
}

// lineOf is the line of the entry that keys lead to, or of the last of them that
// is there.
func lineOf(raw []byte, keys ...string) int {
	f, err := parser.ParseBytes(raw, 0)
	if err != nil || len(f.Docs) == 0 {
		return 1
	}
	line := 1
	node := f.Docs[0].Body
	for _, k := range keys {
		m, ok := node.(*ast.MappingNode)
		if !ok {
			break
		}
		for _, v := range m.Values {
			if t := v.Key.GetToken(); t.Value == k {
				line, node = t.Position.Line, v.Value
			}
		}
	}
	return line
}

// configError makes one line of a YAML error, with its place.
func configError(path string, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		pos := at.GetToken().Position
		return fmt.Errorf("%s:%d:%d: %s", path, pos.Line, pos.Column, strings.ReplaceAll(at.GetMessage(), "\n", " "))
	}
	msg, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s: %s", path, msg)
}
