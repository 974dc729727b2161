// Command aegis stands between an MCP client and an MCP server and leaves a
// record that a stranger can verify.
package main

import (
	"os"

	"github.com/aegis-aar/aegis/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
