package cli

import (
	"io"
	"os"
)

var endingSignals = []os.Signal{os.Interrupt}

// survivePipe: Windows has no SIGPIPE.
func survivePipe() func() { return func() {} }

// reloadOn: Windows has no SIGUSR1. Start aegis again to change the policy.
func (g *gate) reloadOn(io.Writer) (stop func()) { return func() {} }
