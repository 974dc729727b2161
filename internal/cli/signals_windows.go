package cli

import "os"

var endingSignals = []os.Signal{os.Interrupt}

// survivePipe: Windows has no SIGPIPE.
func survivePipe() func() { return func() {} }
