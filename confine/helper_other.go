//go:build !linux || (!amd64 && !arm64)

package confine

import (
	"fmt"
	"os"
)

// RunHelper exits if the process was started as the helper: nothing can be
// enforced on this system. Else it returns and has done nothing.
func RunHelper(args []string) {
	if len(args) < 2 || args[1] != HelperCommand {
		return
	}
	fmt.Fprintf(os.Stderr, "aegis %s: %v\n", HelperCommand, unsupported())
	os.Exit(1)
}
