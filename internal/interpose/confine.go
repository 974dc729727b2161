package interpose

import (
	"os/exec"

	"github.com/aegis-aar/aegis/aar"
)

// A Confiner contains the child.
type Confiner interface {
	// Prepare gives a command its program. Its streams and attributes are set;
	// the process that is started is the child, from its first instruction on.
	Prepare(cmd *exec.Cmd) error
	// Await is called when that has been started, and returns when the server's
	// own program runs, with what is enforced on it as every outcome tells it. An
	// error says that it will not run.
	Await() (*aar.Confinement, error)
}
