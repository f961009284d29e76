// Signalbox is one terminal from which a lead engineer supervises coding agents.
package main

import (
	"context"
	"os"

	"signalbox/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], cli.OS()))
}
