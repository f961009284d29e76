package demo

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"signalbox/model/acmp"
	provider "signalbox/server/acmp"
)

// craft is one real command that may be found on this machine.
type craft struct {
	name, price string
	argv        []string
	needs       string // a path under the folder that must exist; "" for nothing
	progress    *regexp.Regexp
	timeout     time.Duration
}

var percent = regexp.MustCompile(`(\d+)%`)

// crafts are the commands, most of them found on any machine with a shell.
func crafts() []craft {
	return []craft{
		{name: "clock-watch", price: "0.001", timeout: 5 * time.Minute, progress: percent,
			argv: []string{"sh", "-c", `i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "$(date) $((i*100/60))%"; sleep 1; done`}},
		{name: "list-tree", price: "0.001", timeout: time.Minute, argv: []string{"sh", "-c", "ls -lR /usr 2>/dev/null | head -3000"}},
		{name: "load-watch", price: "0.001", timeout: 2 * time.Minute,
			argv: []string{"sh", "-c", `n=0; while [ $n -lt 30 ]; do uptime; n=$((n+1)); sleep 2; done`}},
		{name: "go-version", price: "0.001", timeout: time.Minute, argv: []string{"go", "version"}},
		{name: "go-vet", price: "0.004", timeout: 10 * time.Minute, argv: []string{"go", "vet", "./..."}, needs: "go.mod"},
		{name: "git-log", price: "0.001", timeout: time.Minute, argv: []string{"git", "--no-pager", "log", "--stat", "-n", "40"}, needs: ".git"},
		{name: "failing-check", price: "0.002", timeout: time.Minute,
			argv: []string{"sh", "-c", `echo "checking 3 gates"; sleep 1; echo "gate 1 ok"; sleep 1; echo "gate 2: expected 180 kB, got 212 kB" >&2; exit 3`}},
	}
}

// workshop offers what this machine can run. Where there is nothing, it says
// so when asked.
func workshop(dir string) []provider.Capability {
	if dir == "" {
		dir, _ = os.Getwd() // "" falls back to it anyway
	}
	var caps []provider.Capability
	for _, c := range crafts() {
		if _, err := exec.LookPath(c.argv[0]); err != nil {
			continue
		}
		if c.needs != "" {
			if _, err := os.Stat(filepath.Join(dir, c.needs)); err != nil {
				continue
			}
		}
		caps = append(caps, provider.Capability{
			Info:        acmp.Capability{Name: c.name, PriceCU: json.Number(c.price), Input: "none", Output: "lines", TimeoutMS: c.timeout.Milliseconds()},
			Command:     &provider.Command{Argv: c.argv, Dir: dir, Input: provider.InputNone, Output: provider.OutputLines, Progress: c.progress},
			MaxParallel: 2,
		})
	}
	return append(caps, provider.Capability{Info: acmp.Capability{Name: "platform", Output: "text"}, Handler: platform})
}

// platform tells what machine this is, without any command.
func platform(context.Context, *provider.Task) (provider.Output, error) {
	out := text(runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version())
	return provider.Output{Payload: &out}, nil
}
