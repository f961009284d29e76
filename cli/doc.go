// Package cli is the command line and the only place where the rooms are wired
// together: one file per subcommand. It owns the exit codes, the signal
// handling and the one pump that feeds the dashboard.
package cli
