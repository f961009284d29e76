package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"signalbox/model/text"
)

// verdict is what a check came to.
type verdict string

const (
	verdictOK   verdict = "ok"
	verdictWarn verdict = "warn" // works, but not as it should
	verdictFail verdict = "fail" // something does not work
)

// finding is one line of the doctor. Text and Remedy may quote what others wrote and
// are cleaned when they are made.
type finding struct {
	Check  string  `json:"check"`
	Status verdict `json:"status"`
	Text   string  `json:"text"`
	Remedy string  `json:"remedy,omitempty"` // what to do; "" where all is well
}

// doctor collects findings.
type doctor struct {
	g        *globals
	listen   string // address to try; "" = the usual ones
	data     string // folder of the owner's state
	findings []finding
}

// doctorPatience bounds each look at something that may not answer.
const doctorPatience = 5 * time.Second

func newDoctorCommand(g *globals) *cobra.Command {
	d := &doctor{g: g}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps things from working, and say what to do",
		Long: `Check the configuration, the state on disk, the port, the owner (does it answer,
which version is it, does its clock agree), the token, every provider and the
terminal. One line each: ok, warn (it works, but not as it should) or fail, and what
to do about it. Providers that are commands are started and ended again; apart from
that nothing is changed.
Exit code 0 nothing failed, 1 something failed, 2 wrong usage.`,
		Example: "  signalbox doctor\n" +
			"  signalbox doctor --server https://box.example:7180 --token-file lead.token\n" +
			"  signalbox doctor --listen 127.0.0.1:7180 --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&d.listen, "listen", "", "also check that an owner could listen on this address")
	cmd.Flags().StringVar(&d.data, "data", "", "folder of the owner's state (default: the local box's)")
	return cmd
}

func (d *doctor) run(ctx context.Context) error {
	if d.listen != "" {
		if err := checkListen(d.listen); err != nil {
			return failf(exitUsage, "--listen: %w", err)
		}
	}
	if d.data == "" {
		d.data = d.g.localData()
	}
	d.ok("program", "%s", build())
	d.checkConfig()
	d.checkState(ctx)
	d.checkPort(ctx)
	d.checkOwner(ctx)
	d.checkProviders(ctx)
	d.checkTerminal()
	if ctx.Err() != nil {
		return failf(exitInterrupted, "")
	}
	return d.report()
}

func (d *doctor) add(check string, v verdict, remedy, format string, args ...any) {
	d.findings = append(d.findings, finding{
		Check: check, Status: v, Text: text.Line(fmt.Sprintf(format, args...)), Remedy: text.Line(remedy),
	})
}

func (d *doctor) ok(check, format string, args ...any) {
	d.add(check, verdictOK, "", format, args...)
}

func (d *doctor) warn(check, remedy, format string, args ...any) {
	d.add(check, verdictWarn, remedy, format, args...)
}

func (d *doctor) fail(check, remedy, format string, args ...any) {
	d.add(check, verdictFail, remedy, format, args...)
}

// count is how many findings have a verdict.
func (d *doctor) count(v verdict) int {
	n := 0
	for _, f := range d.findings {
		if f.Status == v {
			n++
		}
	}
	return n
}

// doctorReport is what --json prints.
type doctorReport struct {
	OK     bool      `json:"ok"` // nothing failed
	Failed int       `json:"failed"`
	Warned int       `json:"warned"`
	Checks []finding `json:"checks"`
}

// report prints the findings. What failed is said by the exit code as well.
func (d *doctor) report() error {
	failed, warned := d.count(verdictFail), d.count(verdictWarn)
	if d.g.json {
		enc := json.NewEncoder(d.g.sys.Stdout)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(doctorReport{failed == 0, failed, warned, d.findings}); err != nil {
			return stdoutError(err)
		}
	} else {
		var b strings.Builder
		for _, f := range d.findings {
			fmt.Fprintf(&b, "%-4s  %-9s %s", f.Status, f.Check, f.Text)
			if f.Remedy != "" {
				b.WriteString("; " + f.Remedy)
			}
			b.WriteByte('\n')
		}
		if err := printed(fmt.Fprint(d.g.sys.Stdout, b.String())); err != nil {
			return err
		}
	}
	if failed > 0 {
		return failf(exitFailed, "%s of %d failed", plural(failed, "check", "checks"), len(d.findings))
	}
	return nil
}
