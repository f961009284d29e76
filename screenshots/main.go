package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := takeAll(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func takeAll(ctx context.Context, words []string) error {
	dir, err := os.MkdirTemp("", "screenshots-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "signalbox")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "signalbox").CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	for _, s := range sittings() {
		if !s.wanted(words) {
			continue
		}
		if s.theme != "" {
			file := filepath.Join(dir, s.theme+".yaml")
			if err := os.WriteFile(file, []byte("theme: "+s.theme+"\n"), 0o600); err != nil {
				return err
			}
			s.args = append(slices.Clone(s.args), "--config", file)
		}
		if err := sit(ctx, bin, s, words); err != nil {
			return err
		}
	}
	return nil
}

func wanted(name string, words []string) bool {
	for _, w := range words {
		if strings.Contains(name, w) {
			return true
		}
	}
	return len(words) == 0
}

// sit plays one sitting and writes the pictures that are wanted.
func sit(ctx context.Context, bin string, s sitting, words []string) error {
	t, err := start(ctx, s, bin)
	if err != nil {
		return err
	}
	defer t.close()
	for _, st := range s.steps {
		if err := t.waitFor(st.see...); err != nil {
			return fmt.Errorf("%s: %w", st.shot, err)
		}
		t.quiet()
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if st.shot != "" && wanted(st.shot, words) {
			name := filepath.Join("screenshots", st.shot+".svg")
			if err := os.WriteFile(name, []byte(drawSVG(t.emu, s.look)), 0o644); err != nil {
				return err
			}
			fmt.Println(filepath.ToSlash(name))
		}
		if err := t.typeKeys(st.keys); err != nil {
			return err
		}
	}
	return nil
}
