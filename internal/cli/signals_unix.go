//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// endingSignals end a session in good order.
var endingSignals = []os.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT}

// survivePipe makes a write to a client that is gone an error instead of our
// end. SIGPIPE is caught, not ignored: a caught signal is reset when the child
// is started, an ignored one would be inherited.
func survivePipe() func() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGPIPE)
	return func() { signal.Stop(caught) }
}
