package interpose

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// Recorder puts Calls on record; [aar.Writer] is one.
type Recorder interface {
	Begin(toolID string, request aar.RequestDigest, known aar.Outcome) (*aar.Call, error)
	Record(toolID string, request aar.RequestDigest, outcome aar.Outcome) error
}

// Tracer sees every frame as it came. The body is the caller's again afterwards.
type Tracer interface {
	Frame(from Side, body []byte)
	// Omitted is told of a frame of so many bytes that passed without being held.
	Omitted(from Side, bytes int64)
}

// DefaultMaxFrame is the longest client frame that is relayed, in bytes.
const DefaultMaxFrame = 64 << 20

// Config is what a Session is made of.
type Config struct {
	Client io.Reader // the client's messages
	Answer io.Writer // what the client reads
	Stderr *Pump     // the child's stderr as it comes, and notes of our own
	Argv   []string  // the child's command, passed on as it is
	// Confiner contains the child; nil lets it do what we may.
	Confiner Confiner
	// StderrTap gets the child's stderr too, perhaps still when Run has returned.
	// May be nil.
	StderrTap io.Writer
	// Signals ends the session, as if the terminal had been closed. May be nil.
	Signals <-chan os.Signal

	// Recorder puts every Call on record; nil records nothing.
	Recorder Recorder
	// Surface is the lock in force, for the record. May be nil.
	Surface *aar.SurfaceDigest
	// Decider enforces a Policy Set; nil lets every Call pass.
	Decider Decider
	// Inspector rules on answers; nil lets them pass.
	Inspector Inspector
	// Tracer sees every frame; may be nil.
	Tracer Tracer
	// Voice words what is authored; nil means WrapVoice.
	Voice Voice

	// Strict ends the Session when a Decider or an Inspector fails at its work;
	// StrictFrameCap, when a server frame is longer than MaxFrame.
	Strict, StrictFrameCap bool
	// MaxFrame is the longest frame in bytes that is read as one; 0 means DefaultMaxFrame.
	MaxFrame int
	// MaxInFlight bounds the requests that wait for their answer; 0 means
	// DefaultMaxInFlight. At the bound the client is not read, or, with an Inspector, the
	// oldest is let go of: its answer is then one to a request nobody knows.
	MaxInFlight int

	patience patience // zero means defaultPatience
}

// patience is how long a Session waits for whom.
type patience struct {
	silence time.Duration // for a child that says nothing after the client closed its stdin
	drain   time.Duration // for the pipes of a child that has exited, and for one that closed its stdout to exit
	term    time.Duration // from SIGTERM to SIGKILL, after silence
	signal  time.Duration // from a signal of ours to SIGKILL
	hurry   time.Duration // for whatever else blocks when a signal ends the session: all of it stays under 1.5 s
	notice  time.Duration // for an end of the client's stream that is there already to be read
}

var defaultPatience = patience{
	silence: 5 * time.Second,
	drain:   2 * time.Second,
	term:    5 * time.Second,
	signal:  time.Second,
	hurry:   100 * time.Millisecond,
	notice:  100 * time.Millisecond,
}

// Session is one run of the relay.
type Session struct {
	cfg    Config
	clock  clock
	ledger *ledger
	outbox *outbox
	outlet *outlet
	child  *child
	// confinement is what is enforced on the child, as outcomes tell it.
	confinement *aar.Confinement

	client, server framingWatch

	endOnce sync.Once
	ending  chan struct{} // closed when something other than an EOF ends the session
	cause   error         // why, nil for an orderly end; read after ending

	clientDone chan struct{} // the client's stream has ended
	answerGone chan struct{} // the client reads no more
	heard      atomic.Int64  // when the downlink last had a frame of the child in hand, by clock
	childQuiet chan struct{} // the child's stdout has ended
	early      bool          // the child ended before the client did
}

// ErrStart wraps the error of a child that could not be started.
var ErrStart = errors.New("could not spawn child")

// Run relays until the session ends and the child is gone, and returns how the
// child ended. All open Calls have their outcome on record then. The error is
// nil if an end of stream or the child's exit ended the session; else it is or
// wraps [ErrStart], a *[SignalError], a *[StrictAbort], a *[FramingMismatch] or
// a *[wire.FramingError].
func Run(cfg Config) (Exit, error) {
	if cfg.MaxFrame == 0 {
		cfg.MaxFrame = DefaultMaxFrame
	}
	if cfg.MaxInFlight == 0 {
		cfg.MaxInFlight = DefaultMaxInFlight
	}
	if cfg.Voice == nil {
		cfg.Voice = WrapVoice{}
	}
	if cfg.patience == (patience{}) {
		cfg.patience = defaultPatience
	}
	s := &Session{
		cfg:        cfg,
		clock:      newClock(),
		ledger:     newLedger(cfg.MaxInFlight),
		ending:     make(chan struct{}),
		clientDone: make(chan struct{}),
		answerGone: make(chan struct{}),
		childQuiet: make(chan struct{}),
	}
	child, confinement, err := startChild(cfg.Argv, cfg.Confiner, cfg.Signals)
	if err != nil {
		return Exit{}, fmt.Errorf("%w `%s`: %w", ErrStart, cfg.Argv[0], err)
	}
	s.child, s.confinement = child, confinement
	client := wire.NewReader(cfg.Client, cfg.MaxFrame)
	s.outbox = newOutbox(child.stdin, s.clock, func() bool { return client.Buffered() > 0 })
	s.outlet = &outlet{to: cfg.Answer, failed: func() { close(s.answerGone) }, outlives: cfg.Inspector != nil}
	return s.run(client)
}

func (s *Session) run(client *wire.Reader) (Exit, error) {
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		s.outbox.run()
		s.child.stdin.Close()
	}()
	var readers sync.WaitGroup
	readers.Go(func() {
		defer close(s.childQuiet)
		s.downlink(wire.NewReader(s.child.stdout, s.cfg.MaxFrame))
	})
	readers.Go(func() { io.Copy(s.stderr(), s.child.stderr) })
	// The client's reader may block for ever in a read that nothing can end;
	// nobody waits for it.
	go func() {
		defer s.outbox.finish() // what the child sees comes after what supervise sees
		defer close(s.clientDone)
		s.uplink(client)
	}()

	unanswered := s.awaitEnd()
	readersDone := make(chan struct{})
	go func() { readers.Wait(); close(readersDone) }()
	s.outbox.abort()
	exit := s.seeOut(readersDone)
	s.child.stdin.Close() // frees a write that the child does not take
	select {
	case <-forwarded:
	case <-time.After(s.cfg.patience.hurry):
		// A client that does not read holds a refusal, or a disk its sync.
	}
	s.settle(unanswered)
	if s.endsNow() {
		return exit, s.cause
	}
	return exit, nil
}

// stderr is where the child's goes.
func (s *Session) stderr() io.Writer {
	if s.cfg.StderrTap == nil {
		return s.cfg.Stderr
	}
	return io.MultiWriter(s.cfg.Stderr, s.cfg.StderrTap)
}

// settle gives every call that is still open its outcome, in call order, and
// every request that is an answer, if the Voice has one.
func (s *Session) settle(reason string) {
	s.abandon(s.ledger.close(), reason)
}

// abandon ends requests that the client gets no answer of the server to.
func (s *Session) abandon(open []*openRequest, reason string) {
	s.sayGone(open)
	for _, c := range open {
		if c.call == nil {
			continue
		}
		why := reason
		switch {
		case c.forwarded.Load() == 0:
			why = "not executed: the session ended before the request was forwarded"
		case c.cancelled:
			why = byClient
		}
		s.end(c, hostDenied(c.known, why))
	}
}

// end writes an outcome. If the record does not take it, it is kept for retry
// and the session goes on: the child has run, and hiding its answer undoes nothing.
func (s *Session) end(c *openRequest, o aar.Outcome) {
	if c.call == nil {
		return
	}
	if err := c.call.End(o); err != nil {
		s.note("the outcome of %s is not on record yet: %v", c.call.ID(), err)
	}
}

func hostDenied(known aar.Outcome, reason string) aar.Outcome {
	known.Execution = aar.Execution{Status: aar.HostDenied, Reason: reason}
	return known
}

// stop ends the session at once. The first cause counts.
func (s *Session) stop(cause error) {
	s.endOnce.Do(func() {
		s.cause = cause
		close(s.ending)
	})
}

// note writes a line of our own to stderr. It never blocks.
func (s *Session) note(format string, a ...any) {
	fmt.Fprintf(s.cfg.Stderr, "aegis "+s.cfg.Voice.Name()+": "+format+"\n", a...)
}

func (s *Session) trace(from Side, f wire.Frame) {
	if s.cfg.Tracer != nil {
		s.cfg.Tracer.Frame(from, f.Body)
	}
}
