package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"signalbox/model/text"
)

// Sys is the world a command runs in, so that tests can give it another one.
type Sys struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    func(string) string
}

// OS is the Sys of the running process.
func OS() Sys {
	return Sys{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv}
}

// exitError carries the exit code of a failure whose text is for a person.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// signalled is the end by a signal that was caught.
func signalled(s os.Signal) error {
	if s == os.Interrupt {
		return failf(exitInterrupted, "interrupted")
	}
	code := exitFailed
	if n, ok := s.(syscall.Signal); ok {
		code = 128 + int(n)
	}
	return failf(code, "ended by a signal: %s", s)
}

// failf makes an error that ends the program with code.
func failf(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// globals are the flags that every subcommand understands.
type globals struct {
	sys Sys

	server    string
	tokenFile string
	providers []string
	config    string
	readOnly  bool
	json      bool
	logFile   string
	noColor   bool
	ascii     bool
}

// neverFails marks a command whose exit code is always 0, as another program would take
// any other for an order. Its value goes before what went wrong.
const neverFails = "signalbox_never_fails"

// Run carries out one command line and returns the exit code. It prints at most
// one line of error to Stderr and never a stack trace.
func Run(ctx context.Context, args []string, sys Sys) int {
	// net/http tells the standard logger what a peer sent out of turn; that has no
	// business on a terminal, least of all over a dashboard.
	log.SetOutput(io.Discard)
	g := &globals{sys: sys}
	root := newRoot(g)
	root.SetArgs(args)
	done, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if said := done.Annotations[neverFails]; said != "" {
		fmt.Fprintf(sys.Stderr, "signalbox: %s: %s\n", said, text.Line(err.Error()))
		return exitOK
	}
	var ee *exitError
	var pe *fs.PathError
	switch {
	case errors.As(err, &ee):
	case errors.As(err, &pe) && pe.Op == "write": // of the library's own commands, which only print
		ee = &exitError{code: exitFailed, err: fmt.Errorf("write the output: %w", err)}
	default:
		ee = &exitError{code: exitUsage, err: err}
	}
	if msg := strings.TrimSpace(ee.Error()); msg != "" {
		fmt.Fprintln(sys.Stderr, "signalbox: "+msg)
	}
	return ee.code
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:     "signalbox",
		Version: build().String(),
		Short:   "Supervise coding agents from one terminal",
		Long: "Supervise coding agents from one terminal. Without a command it is the dashboard, on\n" +
			"the owner of --server or on the local box, which it opens or joins.\n\n" + exitCodeHelp(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return g.openBox(cmd.Context()) },
	}
	root.SetIn(g.sys.Stdin)
	root.SetOut(g.sys.Stdout)
	root.SetErr(g.sys.Stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	f := root.PersistentFlags()
	f.StringVar(&g.server, "server", "", "URL of the owner (default: the local box)")
	f.StringVar(&g.tokenFile, "token-file", "", "file that holds the bearer token for the owner")
	f.StringArrayVar(&g.providers, "provider", nil, "NAME=URL or NAME=stdio:COMMAND (repeatable)")
	f.StringVar(&g.config, "config", "", "configuration file")
	f.BoolVar(&g.readOnly, "read-only", false, "look, but change nothing")
	f.BoolVar(&g.json, "json", false, "print data as JSON")
	f.StringVar(&g.logFile, "log-file", "", "write the program's log to this file")
	f.BoolVar(&g.noColor, "no-color", false, "use no colour")
	f.BoolVar(&g.ascii, "ascii", false, "draw with ASCII characters only")
	root.AddCommand(newDemoCommand(g))
	root.AddCommand(newConfigCommand(g))
	root.AddCommand(newCompactCommand(g))
	root.AddCommand(newDoctorCommand(g))
	root.AddCommand(newInvokeCommand(g))
	root.AddCommand(newHookCommand(g))
	root.AddCommand(newMCPCommand(g))
	root.AddCommand(newProvideCommand(g))
	root.AddCommand(newServeCommand(g))
	root.AddCommand(newStopCommand(g))
	root.AddCommand(newTokenCommand(g))
	root.AddCommand(newWorkCommand(g))
	root.AddCommand(newVersionCommand(g))
	root.AddCommand(newManCommand(g))
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.InitDefaultCompletionCmd() // now, so that it is treated as the others
	g.complete(root)
	explainArguments(root)
	trimHelp(root)
	return root
}
