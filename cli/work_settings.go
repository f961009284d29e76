package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/model/acop"
	"signalbox/model/text"
)

func newWorkSettings(g *globals) *cobra.Command {
	var mode, reason string
	cmd := &cobra.Command{
		Use:   "settings",
		Short: "Show how the owner grants claims, or change it",
		Long: `Show the owner's settings, or with --grant-mode change how claims are granted:
auto at once, lead after a lead's word, rules as the owner's configuration says.
See also work freeze.`,
		Example: "  signalbox work settings\n  signalbox work settings --grant-mode lead --reason 'release week'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("grant-mode") {
				if reason != "" {
					return failf(exitUsage, "--reason says why something changes; name the change with --grant-mode")
				}
				return g.showSettings(cmd.Context())
			}
			m := acop.GrantMode(mode)
			if !m.Valid() {
				return failf(exitUsage, "--grant-mode must be auto, lead or rules, not %q", text.Clip(text.Line(mode), 40))
			}
			return g.changeSettings(cmd.Context(), acop.SettingsChange{GrantMode: &m, Reason: reason})
		},
	}
	cmd.Flags().StringVar(&mode, "grant-mode", "", "auto, lead or rules")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return cmd
}

func newWorkFreeze(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse every new claim; running work goes on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(reason) == "" {
				return failf(exitUsage, "--reason is missing: say why, others will read it")
			}
			frozen := true
			return g.changeSettings(cmd.Context(), acop.SettingsChange{Frozen: &frozen, Reason: reason})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why; whoever is refused reads it")
	return cmd
}

func newWorkUnfreeze(g *globals) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "unfreeze",
		Short: "Let claims be granted again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			frozen := false
			return g.changeSettings(cmd.Context(), acop.SettingsChange{Frozen: &frozen, Reason: reason})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log")
	return cmd
}

func (g *globals) showSettings(ctx context.Context) error {
	w, done, err := g.openWork(ctx, false)
	if err != nil {
		return err
	}
	defer done()
	s, err := w.c.Settings(ctx)
	if err != nil {
		return workError("read the settings", err)
	}
	return w.printSettings(s)
}

func (g *globals) changeSettings(ctx context.Context, c acop.SettingsChange) error {
	w, done, err := g.openWork(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	r, err := w.c.Do(ctx, acop.Act{Verb: acop.VerbSettings, Settings: &c})
	if err != nil {
		return workError("change the settings", err)
	}
	if w.g.json || r.Settings == nil {
		return w.told(r, "changed the settings")
	}
	return w.printSettings(r.Settings)
}

func (w *work) printSettings(s *acop.Settings) error {
	if w.g.json {
		return w.printJSON(s)
	}
	frozen := "no"
	if s.Frozen {
		frozen = "yes"
		if s.FrozenBy != "" {
			frozen += ", by " + text.ID(s.FrozenBy)
		}
		frozen += because(s.FrozenReason)
	}
	var b strings.Builder
	for _, p := range [][2]string{{"grant mode", string(s.GrantMode)}, {"rules", ruleCount(s)}, {"frozen", frozen}, {"revision", fmt.Sprint(s.Revision)}} {
		if p[1] != "" {
			fmt.Fprintf(&b, "%-10s  %s\n", p[0], p[1])
		}
	}
	return w.printf("%s", b.String())
}

func ruleCount(s *acop.Settings) string {
	if len(s.Rules) == 0 {
		return ""
	}
	return fmt.Sprintf("%d, shown with --json", len(s.Rules))
}
