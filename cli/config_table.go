package cli

import (
	"fmt"
	"strings"

	"signalbox/ui"
)

// setting is one entry of the configuration: `config init` writes it as a comment,
// the reference as a section.
type setting struct {
	// keys are the names that the entry explains, as they stand in the file; those of
	// a mapping or a list are written with a dot.
	keys []string
	help string // whole sentences, in lines
	def  string // what holds without it, in words; "" = nothing
	yaml string // how it looks; each line becomes a comment
}

// settings are all entries in the order of the file. Every member of the types that
// read the file is among them; a test proves it.
func settings() []setting {
	return []setting{
		{
			keys: []string{"theme"}, def: "`auto`", yaml: "theme: auto",
			help: "The colours: auto asks the terminal; dark, light, high-contrast.",
		},
		{
			keys: []string{"ascii"}, def: "`false`", yaml: "ascii: false",
			help: "Draw with ASCII characters only. RUNEWIDTH_EASTASIAN=1, which tells that the terminal\ndraws lines and arrows in two cells, turns it on.",
		},
		{
			keys: []string{"mouse"}, def: "`on`", yaml: "mouse: on",
			help: "Clicks and the wheel: on or off. Turned off, the terminal's own selection works\nagain.",
		},
		{
			keys: []string{"notify"}, def: "`off`", yaml: "notify: off\nnotify: [notify-send, signalbox]",
			help: "How a new ask makes itself known while the terminal has no focus: off, bell,\n" +
				"osc (a desktop notification by the terminal), or a command as a list of words,\n" +
				"which gets the ask as JSON on its standard input.",
		},
		{
			keys: []string{"notify_floor"}, def: "`medium`", yaml: "notify_floor: medium",
			help: "Asks below this severity stay quiet: low, medium, high, critical.",
		},
		{
			keys: []string{"on_ask"}, yaml: "on_ask: [my-hook, --from, signalbox]",
			help: "A command that is run for every new ask, focused or not, with the ask as JSON on\n" +
				"its standard input. No shell is involved.",
		},
		{
			keys: []string{
				"providers", "providers.name", "providers.url", "providers.command", "providers.dir", "providers.token_file",
				"providers.env", "providers.client_cert", "providers.client_key", "providers.ca_file",
			},
			help: "Providers beside those of --provider: each has a name, and a url or a command.\n" +
				"Files that are named are looked for beside this file. client_cert and client_key\n" +
				"(PEM) are shown to a provider that asks for a certificate; ca_file names who may\n" +
				"vouch for it.",
			yaml: "providers:\n" +
				"  - name: workshop\n" +
				"    url: http://127.0.0.1:7190/mcp\n" +
				"    token_file: workshop.token   # beside this file, or an absolute path\n" +
				"  - name: local\n" +
				"    command: [my-provider, --stdio]\n" +
				"    dir: /path/to/work/in\n" +
				"    env: {LEVEL: debug}",
		},
		{
			keys: []string{"transcripts", "transcripts.keep", "transcripts.max_bytes"}, def: "as shown",
			help: "How much of the tasks' output is kept on disk.",
			yaml: "transcripts:\n" +
				"  keep: 1000            # outputs of the newest tasks\n" +
				"  max_bytes: 2147483648 # of all of them",
		},
		{
			keys: []string{"keys"}, def: "as shown", yaml: keySettings(),
			help: "Other keys: the action's name and one key or a list. A key that two actions would\nhave is an error.",
		},
	}
}

// keySettings are the keys as they are without a configuration.
func keySettings() string {
	var b strings.Builder
	b.WriteString("keys:")
	for _, a := range ui.KeyMap() {
		quoted := make([]string, len(a.Keys))
		for i, k := range a.Keys {
			quoted[i] = fmt.Sprintf("%q", k)
		}
		line := strings.Join(quoted, ", ")
		if len(quoted) > 1 {
			line = "[" + line + "]"
		}
		fmt.Fprintf(&b, "\n  %-28s # %s", a.ID+": "+line, a.Help)
	}
	return b.String()
}

// configTemplate is the file with every setting as a comment.
func configTemplate() string {
	var b strings.Builder
	b.WriteString("# Signalbox: how the dashboard looks and behaves. Take the # away to change a\n" +
		"# default. \"signalbox config check\" says what is wrong, with its line.\n")
	for _, s := range settings() {
		b.WriteString("\n# " + strings.ReplaceAll(s.help, "\n", "\n# ") + "\n")
		b.WriteString("#" + strings.ReplaceAll(s.yaml, "\n", "\n#") + "\n")
	}
	return b.String()
}

// environment are the variables that the program reads, and what they stand for.
var environment = [][2]string{
	{"SIGNALBOX_SERVER", "the owner, as --server"},
	{"SIGNALBOX_TOKEN_FILE", "the file with the token for the owner, as --token-file"},
	{"ACOP_BACKEND_BASE_URI", "the owner, where neither --server nor SIGNALBOX_SERVER is given"},
	{"ACOP_BACKEND_BEARER_TOKEN", "the token for the owner, where no file is given"},
	{envBearerToken, "the token towards a provider that has no token_file"},
	{envInsecureHTTP, "1: providers on other machines may be reached over http://"},
	{"XDG_STATE_HOME", "where signalbox/ with the local box, transcripts and exports is kept (default ~/.local/state)"},
	{"XDG_CONFIG_HOME", "where signalbox/config.yaml is looked for (default ~/.config)"},
	{"NO_COLOR", "any value: no colour, as --no-color"},
	{"EDITOR", "the editor in which long texts are written"},
}

// configReference is docs/config.md.
func configReference() string {
	var b strings.Builder
	b.WriteString(`# The configuration file

<!-- made from the program by "go test ./cli -run Reference -update" -->

` + "`signalbox config init` writes the file with every setting as a comment, `signalbox config\n" +
		"check` says what is wrong with it, by line, and `signalbox doctor` looks at what it leads\n" +
		"to. It is `$XDG_CONFIG_HOME/signalbox/config.yaml` (`~/.config/signalbox/config.yaml`), or\n" +
		"the file of `--config`. It is read strictly: a setting that is not known is an error. The\n" +
		"dashboard, the demo, `invoke` and `doctor` read it; flags go before it. The owner's file\n" +
		"(`serve --config`) is described in [api.md](api.md), a provider's (`provide --config`) in\n" +
		"[recipes.md](recipes.md).\n")
	for _, s := range settings() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.keys[0], s.help)
		if len(s.keys) > 1 {
			names := make([]string, 0, len(s.keys)-1)
			for _, k := range s.keys[1:] {
				names = append(names, "`"+strings.TrimPrefix(k, s.keys[0]+".")+"`")
			}
			fmt.Fprintf(&b, "Members: %s.\n", strings.Join(names, ", "))
		}
		if s.def != "" {
			fmt.Fprintf(&b, "Default: %s.\n", s.def)
		}
		fmt.Fprintf(&b, "\n```yaml\n%s\n```\n", s.yaml)
	}
	b.WriteString("\n## Environment\n\n| variable | stands for |\n| --- | --- |\n")
	for _, e := range environment {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e[0], e[1])
	}
	return b.String()
}
