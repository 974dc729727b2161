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

// reloadOnSignal reloads the policy at each SIGUSR1 until stop is called. Nothing
// watches the file: an agent with a tool that writes must not change its own
// policy unseen.
func (g *gate) reloadOnSignal() (stop func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-asked:
				g.reload()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		close(done)
	}
}
