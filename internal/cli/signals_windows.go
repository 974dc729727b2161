package cli

import "os"

var endingSignals = []os.Signal{os.Interrupt}

// survivePipe: Windows has no SIGPIPE.
func survivePipe() func() { return func() {} }

// reloadOnSignal: Windows has no SIGUSR1. Start aegis again to change the policy.
func (g *gate) reloadOnSignal() (stop func()) { return func() {} }
