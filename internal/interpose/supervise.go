package interpose

import (
	"fmt"
	"os"
	"time"
)

// SignalError says that a signal to aegis ended the session.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("session ended by signal %v", e.Signal) }

// Number is the signal's number, for an exit code of 128 + n.
func (e *SignalError) Number() int { return signalNumber(e.Signal) }

// What the record says of calls that were forwarded and never answered.
const (
	childExited  = "child exited before responding"
	clientClosed = "client closed stdin; child did not answer within the shutdown grace"
	byClient     = "cancelled by the client; no answer"
	bySignal     = "session ended by signal"
	byAbort      = "session ended: a station failed under --strict"
	byError      = "session ended by an error of the relay"
)

// awaitEnd returns once the child has exited or was made to, and why calls that
// are still open got no answer.
func (s *Session) awaitEnd() string {
	clientDone, answerGone := s.clientDone, s.answerGone
	var silence <-chan time.Time // runs once the client is gone
	for {
		select {
		case <-s.child.exited:
			s.early = silence == nil && !s.closedByClient()
			return childExited
		case <-s.childQuiet:
			// It closed its stdout: nobody will hear of it again.
			s.early = silence == nil && !s.closedByClient()
			return s.dismiss(childExited, s.cfg.patience.drain)
		case sig := <-s.cfg.Signals:
			s.stop(&SignalError{sig})
			return s.endNow()
		case <-s.ending:
			return s.endNow()
		case <-clientDone:
			clientDone, silence = nil, time.After(s.cfg.patience.silence)
		case <-answerGone:
			answerGone, silence = nil, time.After(s.cfg.patience.silence)
			s.outbox.finish()
		case <-silence:
			left := s.cfg.patience.silence - s.clock.since(s.heard.Load())
			if s.outlet.busy() { // it may have more to say than the client takes
				left = s.cfg.patience.silence
			}
			if left > 0 {
				silence = time.After(left) // the child has spoken since the client left
				continue
			}
			return s.dismiss(clientClosed, 0)
		}
	}
}

// closedByClient tells whether the client's stream had ended when the child
// did. An end that is there already is seen within a moment.
func (s *Session) closedByClient() bool {
	select {
	case <-s.clientDone:
		return true
	case <-time.After(s.cfg.patience.notice):
		return false
	}
}

// dismiss gives the child grace to exit, asks it to, then makes it, and returns
// why. What ends the session at once cuts all of that short.
func (s *Session) dismiss(why string, grace time.Duration) string {
	if s.exitsWithin(grace) {
		return why
	}
	if !s.endsNow() {
		s.child.terminate()
		if s.exitsWithin(s.cfg.patience.term) {
			return why
		}
	}
	if s.endsNow() {
		return s.endNow()
	}
	s.child.kill()
	return why
}

func (s *Session) exitsWithin(d time.Duration) bool {
	select {
	case <-s.child.exited:
		return true
	case sig := <-s.cfg.Signals:
		s.stop(&SignalError{sig})
	case <-s.ending:
	case <-time.After(d):
	}
	return false
}

// endsNow tells whether something other than an EOF ends the session.
func (s *Session) endsNow() bool {
	select {
	case <-s.ending:
		return true
	default:
		return false
	}
}

// endNow ends the child for the session's cause, which it returns in the
// record's words. A second signal does not wait for the first.
func (s *Session) endNow() string {
	why := byError
	switch cause := s.cause.(type) {
	case *SignalError:
		why = bySignal
		s.child.pass(cause.Signal)
	case *StrictAbort:
		// The client hears of it first, and of nothing else any more.
		why = byAbort
		s.outbox.abort()
		s.settle(why)
		s.child.terminate()
	default:
		s.child.terminate()
	}
	select {
	case <-s.child.exited:
		return why
	case <-s.cfg.Signals:
	case <-time.After(s.cfg.patience.signal):
	}
	s.child.kill()
	return why
}

// seeOut lets the pipes of an exited child run dry, ends what is left of its
// process group, reaps it and returns how it ended.
func (s *Session) seeOut(readersDone <-chan struct{}) Exit {
	s.drain(readersDone)
	s.child.kill()
	close(s.child.reap)
	// A process that left the group may hold the pipes open for ever.
	exit := Exit{Code: Unseen}
	select {
	case <-s.child.reaped:
		exit = s.child.exit
	case <-time.After(s.cfg.patience.signal):
		// Killed and not gone: the kernel holds it. Nothing more can be done.
	}
	s.child.stdout.Close()
	s.child.stderr.Close()
	select {
	case <-readersDone:
	case <-time.After(s.cfg.patience.hurry):
		// A client that does not read holds the downlink in a write.
	}
	exit.Early = s.early
	return exit
}

// drain waits until the child's stdout and stderr have ended and the client has
// taken all of its answers. A client may take its time, as it may without us; a
// process that only holds the pipes open, or a signal, ends the wait.
func (s *Session) drain(readersDone <-chan struct{}) {
	patience, ending := s.cfg.patience.drain, s.ending
	hurry := false
	for {
		select {
		case <-readersDone:
			return
		case sig := <-s.cfg.Signals:
			s.stop(&SignalError{sig})
		case <-ending:
			ending, hurry = nil, true
			patience = s.cfg.patience.hurry
		case <-time.After(patience):
			// What is left of its group had its time; what that wrote is in the pipes.
			s.child.kill()
			if hurry || !s.outlet.busy() && s.clock.since(s.heard.Load()) > s.cfg.patience.hurry {
				return
			}
		}
	}
}
