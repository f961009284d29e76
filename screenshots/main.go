package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// step is one thing the lead does before the picture is taken: wait until all
// of see is shown, then type keys.
type step struct {
	see  []string
	keys string
}

// scene is one picture.
type scene struct {
	name  string
	w, h  int
	env   []string
	args  []string
	steps []step
	look  ground
}

func scenes() []scene {
	dark := []string{"TERM=xterm-256color", "COLORTERM=truecolor"}
	demo := []string{"demo", "--seed", "7"}
	return []scene{
		{name: "queue", w: 132, h: 38, env: dark, args: demo, look: darkGround,
			steps: []step{{see: []string{"NEEDS YOU", "decide", "grant", "accept", "LIVE TASKS"}}}},
	}
}

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
	for _, s := range scenes() {
		if !wanted(s.name, words) {
			continue
		}
		if err := take(ctx, bin, s); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Println("screenshots/" + s.name + ".svg")
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

func take(ctx context.Context, bin string, s scene) error {
	t, err := start(ctx, s.w, s.h, s.env, bin, s.args...)
	if err != nil {
		return err
	}
	defer t.close()
	for _, st := range s.steps {
		if err := t.waitFor(st.see...); err != nil {
			return err
		}
		if err := t.typeKeys(st.keys); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return os.WriteFile(filepath.Join("screenshots", s.name+".svg"), []byte(drawSVG(t.emu, s.look)), 0o644)
}
