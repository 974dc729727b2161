// Command aegis stands between an MCP client and an MCP server and leaves a
// record that a stranger can verify.
package main

import (
	"os"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/internal/cli"
)

func main() {
	// If this is the helper of a confined server, it becomes the server here.
	confine.RunHelper(os.Args)
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
