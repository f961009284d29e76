package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mattn/go-shellwords"

	"signalbox/client/acmp"
)

// envBearerToken is the token towards a provider that has no token file.
const envBearerToken = "ACMP_BEARER_TOKEN"

// envInsecureHTTP, set to 1, allows http:// to providers on other machines.
const envInsecureHTTP = "SIGNALBOX_INSECURE_HTTP"

// stdioPrefix marks a provider that is a command of ours.
const stdioPrefix = "stdio:"

var providerName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// buyerDir is where transcripts, journal and cost ledger are kept.
func (g *globals) buyerDir() string { return filepath.Join(g.stateDir(), "buyer") }

// loadProviders gives the providers of the command line, then those of the
// config file whose names are not on it. insecureHTTP, or SIGNALBOX_INSECURE_HTTP=1,
// allows http:// beyond loopback. Errors name the flag or the place in the
// file.
func (g *globals) loadProviders(insecureHTTP bool) ([]acmp.ProviderSpec, error) {
	insecureHTTP = insecureHTTP || g.sys.Env(envInsecureHTTP) == "1"
	var out []acmp.ProviderSpec
	have := map[string]bool{}
	for _, arg := range g.providers {
		s, err := parseProvider(arg, insecureHTTP)
		if err != nil {
			return nil, fmt.Errorf("--provider %s", err)
		}
		if have[s.Name] {
			return nil, fmt.Errorf("--provider %s is given twice", s.Name)
		}
		have[s.Name] = true
		out = append(out, s)
	}
	fromFile, err := g.configProviders(insecureHTTP)
	if err != nil {
		return nil, err
	}
	for _, s := range fromFile {
		if !have[s.Name] {
			out = append(out, s)
		}
	}
	return out, g.defaultToken(out)
}

// defaultToken gives the token of the environment, if there is one, to each provider
// that has none of its own.
func (g *globals) defaultToken(specs []acmp.ProviderSpec) error {
	raw := g.sys.Env(envBearerToken)
	if raw == "" {
		return nil
	}
	token, err := cleanToken(envBearerToken, raw)
	if err != nil {
		return err
	}
	for i := range specs {
		if specs[i].Token.IsZero() {
			specs[i].Token = acmp.NewSecret(token)
		}
	}
	return nil
}

// parseProvider reads NAME=URL or NAME=stdio:COMMAND.
func parseProvider(arg string, insecureHTTP bool) (acmp.ProviderSpec, error) {
	name, target, ok := strings.Cut(arg, "=")
	if !ok || !providerName.MatchString(name) {
		// The argument may hold a secret; only the name is repeated.
		return acmp.ProviderSpec{}, errors.New("needs NAME=URL or NAME=stdio:COMMAND, the name of letters, digits, '-', '_' and '.'")
	}
	s := acmp.ProviderSpec{Name: name}
	var err error
	if command, isStdio := strings.CutPrefix(target, stdioPrefix); isStdio {
		s.Command, err = splitWords(command)
	} else {
		s.URL, err = target, checkProviderURL(target, insecureHTTP)
	}
	if err != nil {
		return acmp.ProviderSpec{}, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// splitWords splits as a shell would, without being one.
func splitWords(command string) ([]string, error) {
	p := shellwords.NewParser()
	words, err := p.Parse(command)
	switch {
	case err != nil:
		return nil, errors.New("the command has an open quote or a bracket; quote what is meant literally")
	case p.Position >= 0:
		return nil, errors.New("no shell runs the command: quote ; & | < > or use sh -c '...'")
	case len(words) == 0:
		return nil, errors.New("the command is empty")
	}
	return words, nil
}

func checkProviderURL(raw string, insecureHTTP bool) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return errors.New("the URL must be https://host/path, or http:// on this machine")
	case u.User != nil:
		return errors.New("put the token into a token file, not into the URL")
	case u.Scheme == "http" && !insecureHTTP && !isLoopback(u.Hostname()):
		return errors.New("http:// is for this machine only; use https://, or set " + envInsecureHTTP + "=1 where the network is trusted")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// providerConfig is one entry of `providers` in the config file.
type providerConfig struct {
	Name      string            `yaml:"name"`
	URL       string            `yaml:"url"`
	Command   words             `yaml:"command"`
	Dir       string            `yaml:"dir"`
	TokenFile string            `yaml:"token_file"`
	Env       map[string]string `yaml:"env"`

	ClientCert string `yaml:"client_cert"`
	ClientKey  string `yaml:"client_key"`
	CAFile     string `yaml:"ca_file"`
}

// words is a command as a list of words or as one line to split.
type words []string

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (w *words) UnmarshalYAML(unmarshal func(any) error) error {
	var list []string
	if err := unmarshal(&list); err == nil {
		*w = list
		return nil
	}
	var line string
	if err := unmarshal(&line); err != nil {
		return err
	}
	split, err := splitWords(line)
	*w = split
	return err
}

// configProviders gives the providers of the config file.
func (g *globals) configProviders(insecureHTTP bool) ([]acmp.ProviderSpec, error) {
	c, err := g.loadConfig()
	if err != nil {
		return nil, err
	}
	var out []acmp.ProviderSpec
	seen := map[string]bool{}
	for i := range c.Providers {
		p := &c.Providers[i]
		s, err := p.spec(filepath.Dir(c.path), insecureHTTP)
		if err == nil && seen[p.Name] {
			err = errors.New("the name is taken by an entry above")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: providers[%d] %s: %w", c.path, i, p.Name, err)
		}
		seen[p.Name] = true
		out = append(out, s)
	}
	return out, nil
}

func (c *providerConfig) spec(dir string, insecureHTTP bool) (acmp.ProviderSpec, error) {
	s := acmp.ProviderSpec{Name: c.Name, URL: c.URL, Command: c.Command, Dir: c.Dir}
	if !providerName.MatchString(c.Name) {
		return s, errors.New("needs a name of letters, digits, '-', '_' and '.'")
	}
	if (c.URL == "") == (len(c.Command) == 0) {
		return s, errors.New("needs either url or command")
	}
	if c.URL != "" {
		if err := checkProviderURL(c.URL, insecureHTTP); err != nil {
			return s, err
		}
	}
	for k, v := range c.Env {
		s.Env = append(s.Env, k+"="+v)
	}
	beside := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	s.ClientCert, s.ClientKey, s.CAFile = beside(c.ClientCert), beside(c.ClientKey), beside(c.CAFile)
	if c.TokenFile != "" {
		token, err := readTokenFile(beside(c.TokenFile))
		if err != nil {
			return s, err
		}
		s.Token = token
	}
	return s, nil
}

func readTokenFile(path string) (acmp.Secret, error) {
	raw, err := readToken(path)
	if err != nil {
		return acmp.Secret{}, fmt.Errorf("token_file: %w", err)
	}
	token, err := cleanToken(path, string(raw))
	if err != nil {
		return acmp.Secret{}, fmt.Errorf("token_file: %w", err)
	}
	return acmp.NewSecret(token), nil
}
