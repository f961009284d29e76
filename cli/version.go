package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by release builds with -ldflags "-X signalbox/cli.version=…".
var version string

// buildInfo says which build this is; the JSON form is what scripts read.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// build reads what the linker and the toolchain noted.
func build() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	if b.Version == "" {
		b.Version = "development"
	}
	return b
}

// String is the one line for people.
func (b buildInfo) String() string {
	line := "signalbox " + b.Version
	if b.Commit != "" {
		line += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + " " + b.Go + " " + b.Platform
}

func newVersionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !g.json {
				return printed(fmt.Fprintln(g.sys.Stdout, build()))
			}
			return stdoutError(json.NewEncoder(g.sys.Stdout).Encode(build()))
		},
	}
}
