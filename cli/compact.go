package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"signalbox/server/store"
)

// defaultKeep is how much history a compaction keeps.
const defaultKeep = 30 * 24 * time.Hour

func newCompactCommand(g *globals) *cobra.Command {
	var data string
	var keep time.Duration
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Leave old history of an owner's log behind",
		Long: "Write the log of a stopped owner anew: the present state of everything, and the\n" +
			"history that is younger than --keep. Revisions stay as they are. Whoever resumes from\n" +
			"before the kept history is told that it is gone. The old log counts until the new\n" +
			"one is whole, so that a power cut at any moment loses nothing.",
		Example: "  signalbox compact --data ./box --keep 720h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep < 0 {
				return failf(exitUsage, "--keep %s: history cannot be kept for less than no time", keep)
			}
			if data == "" {
				data = g.localData()
			}
			log, closeLog, err := g.newLogger(g.sys.Stderr)
			if err != nil {
				return err
			}
			defer closeLog()
			done, err := store.Compact(cmd.Context(), store.CompactOptions{Dir: filepath.Join(data, "log"), Keep: keep, Log: log})
			if err != nil {
				return compactFailed(err)
			}
			return g.printCompacted(done)
		},
	}
	cmd.Flags().StringVar(&data, "data", "", "folder of the owner's state (default: the local box's)")
	cmd.Flags().DurationVar(&keep, "keep", defaultKeep, "how long history is kept")
	return cmd
}

// compactFailed gives the failure its exit code: a running owner or a wrong
// folder are the caller's to change.
func compactFailed(err error) error {
	var used *store.ErrInUse
	if errors.As(err, &used) || errors.Is(err, store.ErrNoLog) || errors.Is(err, syscall.ENOTDIR) {
		return failf(exitUsage, "%w", err)
	}
	return failf(exitFailed, "%w", err)
}

func (g *globals) printCompacted(c store.Compacted) error {
	if g.json {
		b, err := json.Marshal(map[string]any{
			"event": "compacted", "changed": !c.Nothing, "history_from": c.Tail, "revision": c.Last,
			"records_before": c.RecordsBefore, "records_after": c.RecordsAfter,
			"bytes_before": c.BytesBefore, "bytes_after": c.BytesAfter,
		})
		if err != nil {
			return err
		}
		return printed(fmt.Fprintln(g.sys.Stdout, string(b)))
	}
	if c.Nothing {
		return printed(fmt.Fprintf(g.sys.Stdout, "Nothing to leave behind: history begins at revision %d and is all to be kept.\n", c.Tail))
	}
	return printed(fmt.Fprintf(g.sys.Stdout, "%s became %d, %s became %s. History begins at revision %d; the log still ends at %d.\n",
		plural(int(c.RecordsBefore), "record", "records"), c.RecordsAfter, megabytes(c.BytesBefore), megabytes(c.BytesAfter), c.Tail, c.Last))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
