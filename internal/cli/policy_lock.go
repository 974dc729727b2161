package cli

import (
	"github.com/aegis-aar/aegis/lock"
	"github.com/aegis-aar/aegis/policy"
)

// loadSurface reads what a policy needs to know of the tools in a lock file.
func loadSurface(path string) ([]policy.ToolSurface, error) {
	l, err := lock.Read(path)
	if err != nil {
		return nil, &exitError{2, err}
	}
	return toolSurfaces(l), nil
}
