//go:build !unix

package cli

// hasTerminal reports false where no terminal sends SIGHUP.
func hasTerminal() bool { return false }
