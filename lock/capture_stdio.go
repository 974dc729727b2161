package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/aegis-aar/aegis/internal/wire"
)

// How a server is ended: its input is closed, then it is asked, then it is not.
const (
	graceEOF  = 500 * time.Millisecond
	graceTerm = 500 * time.Millisecond
)

// maxNoise bounds what a server may write to its standard output beside
// messages. Real servers print banners there.
const maxNoise = 1 << 20

// CaptureStdio starts argv and lists what it declares over its standard input
// and output. No shell is involved. The server leads a process group of its own
// and is gone, with its children in that group, when CaptureStdio returns.
func CaptureStdio(ctx context.Context, argv []string, o CaptureOptions) (*Surface, error) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done after %v", o.Timeout))
	defer cancel()
	p, err := startProcess(argv, &o)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	s := &Surface{Command: argv[0], Args: argv[1:]}
	err = (&client{transport: p, o: o}).capture(ctx, s)
	exit := p.stop()
	if err != nil {
		if errors.Is(err, errEnded) && exit != "" {
			err = fmt.Errorf("%w (%s)", err, exit)
		}
		return nil, p.withTail(err)
	}
	return s, nil
}

var errEnded = errors.New("the server ended its output before it answered")

// process is a server that was started, as a transport.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	frames chan frame
	quit   chan struct{} // closed when nobody takes frames any more
	exited chan struct{} // closed when the server has exited, where that is seen
	done   sync.WaitGroup
	noise  int
	tail   *tail
	errEOF chan struct{} // closed when standard error has ended
	outEOF chan struct{} // closed when standard output has ended
	stderr *os.File
}

type frame struct {
	body []byte
	err  error
}

// command runs argv, looked up in PATH as a shell would. A confiner has its own
// way to it.
func command(argv []string, o *CaptureOptions) *exec.Cmd {
	if o.Confiner != nil {
		return &exec.Cmd{}
	}
	return exec.Command(argv[0], argv[1:]...)
}

func startProcess(argv []string, o *CaptureOptions) (*process, error) {
	p := &process{
		cmd: command(argv, o), frames: make(chan frame), quit: make(chan struct{}),
		tail: &tail{}, errEOF: make(chan struct{}), outEOF: make(chan struct{}), exited: make(chan struct{}),
	}
	ownGroup(p.cmd)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var outW, errW *os.File
	if p.stdout, outW, err = os.Pipe(); err != nil {
		p.stdin.Close()
		return nil, err
	}
	defer outW.Close()
	if p.stderr, errW, err = os.Pipe(); err != nil {
		p.stdin.Close()
		p.stdout.Close()
		return nil, err
	}
	defer errW.Close()
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	if o.Confiner != nil {
		err = o.Confiner.Prepare(p.cmd)
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.stdin.Close()
		p.stdout.Close()
		p.stderr.Close()
		if execErr, ok := errors.AsType[*exec.Error](err); ok {
			err = execErr.Err
		}
		return nil, err
	}
	p.done.Go(func() {
		defer close(p.errEOF)
		to := io.Writer(p.tail)
		if o.Stderr != nil {
			to = io.MultiWriter(p.tail, o.Stderr)
		}
		io.Copy(to, p.stderr) // it ends with the server, or when it is closed
	})
	p.done.Go(func() { p.read(o.MaxBytes) })
	if seesExit {
		p.done.Go(func() {
			awaitExit(p.cmd.Process.Pid)
			close(p.exited)
		})
	}
	if o.Confiner != nil {
		outW.Close() // else its end would not be seen here
		errW.Close()
		if err := o.Confiner.Await(); err != nil {
			p.stop()
			return nil, p.withTail(err)
		}
	}
	return p, nil
}

// read hands out the frames of standard output until it ends.
func (p *process) read(maxBytes int64) {
	defer close(p.outEOF)
	// One byte more than is allowed, to tell that there is one.
	in := &io.LimitedReader{R: p.stdout, N: maxBytes + 1}
	r := wire.NewReader(in, int(min(maxBytes, 1<<30)))
	for {
		f, err := r.Next()
		if in.N <= 0 || f.OverCap {
			err = boundf("the server sent more than %d bytes", maxBytes)
		}
		select {
		case p.frames <- frame{f.Body, err}:
		case <-p.quit:
			io.Copy(io.Discard, p.stdout)
			return
		}
		if err != nil {
			<-p.quit
			io.Copy(io.Discard, p.stdout)
			return
		}
	}
}

func (p *process) agreed(string) {}

func (p *process) notify(ctx context.Context, _ string, text []byte) error { return p.send(ctx, text) }

// send writes a line. A server that does not read may block it: the pipe is
// then closed under it.
func (p *process) send(ctx context.Context, text []byte) error {
	stop := context.AfterFunc(ctx, func() { p.stdin.Close() })
	defer stop()
	_, err := p.stdin.Write(append(text, '\n'))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return errEnded
	}
	return nil
}

func (p *process) call(ctx context.Context, id int64, method string, text []byte) (wire.Element, error) {
	if err := p.send(ctx, text); err != nil {
		return wire.Element{}, p.during(method, err)
	}
	exited := p.exited
	var late <-chan time.Time // what it wrote before it exited may still come
	for {
		select {
		case <-exited:
			exited, late = nil, time.After(graceEOF)
		case <-late:
			return wire.Element{}, p.during(method, errEnded)
		case <-ctx.Done():
			return wire.Element{}, p.during(method, context.Cause(ctx))
		case f := <-p.frames:
			if _, cut := errors.AsType[*BoundError](f.err); len(f.body) > 0 && !cut {
				e, ok, err := p.take(ctx, id, f.body)
				if err != nil {
					return wire.Element{}, p.during(method, err)
				}
				if ok {
					return e, nil
				}
			}
			if f.err != nil {
				if f.err == io.EOF {
					f.err = errEnded
				}
				return wire.Element{}, p.during(method, f.err)
			}
		}
	}
}

func (p *process) during(method string, err error) error { return fmt.Errorf("%s: %w", method, err) }

// take looks at one frame of the server.
func (p *process) take(ctx context.Context, id int64, body []byte) (answer wire.Element, ok bool, err error) {
	if (wire.Frame{Body: body}).Blank() {
		return answer, false, nil
	}
	m := wire.Classify(body)
	switch m.Class {
	case wire.Exact:
	case wire.NotJSON:
		if p.noise += len(body); p.noise > maxNoise {
			return answer, false, boundf("the server wrote more than %d bytes that are no messages to its standard output", maxNoise)
		}
		return answer, false, nil
	default:
		return answer, false, ambiguous(&m)
	}
	if answer, ok, err = answerTo(&m, id); ok || err != nil {
		return answer, ok, err
	}
	for _, e := range m.Elements {
		if e.Kind == wire.Request {
			if err := p.send(ctx, replyTo(e)); err != nil {
				return answer, false, err
			}
		}
	}
	return answer, false, nil
}

// stop ends the server and everything in its group, and says how it ended if
// that was by itself.
func (p *process) stop() (exit string) {
	close(p.quit)
	p.stdin.Close()
	if closed(p.exited) || !p.ends(graceEOF) {
		terminateGroup(p.cmd)
		p.ends(graceTerm)
	}
	// The leader is not reaped yet: its id, and so the group's, is still its own.
	killGroup(p.cmd)
	err := p.cmd.Wait()
	// Somebody outside of the group may still hold the pipes.
	p.stdout.Close()
	p.stderr.Close()
	p.done.Wait()
	if state, ok := errors.AsType[*exec.ExitError](err); ok && state.ExitCode() > 0 {
		return fmt.Sprintf("exit %d", state.ExitCode())
	}
	return ""
}

// ends waits until both outputs have ended, and reports whether they have.
func (p *process) ends(limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	for _, output := range []<-chan struct{}{p.outEOF, p.errEOF} {
		select {
		case <-output:
		case <-t.C:
			return false
		}
	}
	return true
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// maxTail is how much of a server's standard error an error holds.
const maxTail = 2 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if over := len(t.end) - maxTail; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(b), nil
}

// CaptureError is a failure of a started server, with the last of what it wrote
// to its standard error. That text is safe to show.
type CaptureError struct {
	Err    error
	Stderr []string // lines
}

func (e *CaptureError) Error() string { return e.Err.Error() }
func (e *CaptureError) Unwrap() error { return e.Err }

func (p *process) withTail(err error) error {
	p.tail.mu.Lock()
	defer p.tail.mu.Unlock()
	e := &CaptureError{Err: err}
	for line := range bytes.Lines(p.tail.end) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			e.Stderr = append(e.Stderr, shownText(string(line)))
		}
	}
	return e
}
