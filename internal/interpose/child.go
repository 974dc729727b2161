package interpose

import (
	"io"
	"os"
	"os/exec"
	"runtime"

	"github.com/aegis-aar/aegis/aar"
)

// Exit is how the child ended.
type Exit struct {
	Code   int    // its exit code, if Signal is empty; Unseen if its end was not seen
	Signal string // the signal that ended it, `SIGKILL`
	Number int    // that signal's number
	// Early tells that the child ended of itself while the client was still there.
	Early bool
}

// Unseen is the Code of a child that was killed and did not end in time: the
// kernel holds it.
const Unseen = -1

// child is the server process, at the head of a process group of its own.
type child struct {
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	stdout, stderr *os.File
	exited         chan struct{} // closed when it has exited; its group may live on
	reap           chan struct{} // close to have it reaped
	reaped         chan struct{} // closed when exit is known
	exit           Exit
}

// startChild runs argv with three pipes. argv[0] is looked up in PATH as a
// shell would; nothing else is done to it. A confiner has its own way to argv.
// A signal ends the wait for that.
func startChild(argv []string, confiner Confiner, signals <-chan os.Signal) (*child, *aar.Confinement, error) {
	c, err := newChild(argv, confiner)
	if err != nil || confiner == nil {
		return c, nil, err
	}
	var confinement *aar.Confinement
	awaited := make(chan struct{})
	go func() {
		defer close(awaited)
		confinement, err = confiner.Await()
	}()
	select {
	case <-awaited:
	case sig := <-signals:
		c.kill()
		<-awaited
		err = &SignalError{sig}
	}
	if err != nil {
		c.kill()
		close(c.reap)
		<-c.reaped
		c.stdin.Close()
		c.stdout.Close()
		c.stderr.Close()
		return nil, nil, err
	}
	return c, confinement, nil
}

func newChild(argv []string, confiner Confiner) (*child, error) {
	cmd := &exec.Cmd{}
	if confiner == nil {
		cmd = exec.Command(argv[0], argv[1:]...)
	}
	c := &child{
		cmd:    cmd,
		exited: make(chan struct{}),
		reap:   make(chan struct{}),
		reaped: make(chan struct{}),
	}
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	var outW, errW *os.File
	if c.stdout, outW, err = os.Pipe(); err != nil {
		return nil, err
	}
	defer outW.Close()
	if c.stderr, errW, err = os.Pipe(); err != nil {
		c.stdout.Close()
		return nil, err
	}
	defer errW.Close()
	c.cmd.Stdout, c.cmd.Stderr = outW, errW
	ownGroup(c.cmd)
	if confiner != nil {
		if err := confiner.Prepare(c.cmd); err != nil {
			c.stdin.Close()
			c.stdout.Close()
			c.stderr.Close()
			return nil, err
		}
	}

	started := make(chan error)
	go func() {
		// The parent-death signal is tied to the thread that forked: this one
		// lives as long as the child.
		runtime.LockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		awaitExit(c.cmd.Process.Pid)
		close(c.exited)
		<-c.reap     // the group is addressed by the child's pid: keep it from being reused
		c.cmd.Wait() // its error is the state that exitOf reads
		c.exit = exitOf(c.cmd.ProcessState)
		close(c.reaped)
	}()
	if err := <-started; err != nil {
		c.stdout.Close()
		c.stderr.Close()
		if execErr, ok := err.(*exec.Error); ok {
			err = execErr.Err
		} else if pathErr, ok := err.(*os.PathError); ok {
			err = pathErr.Err
		}
		return nil, err
	}
	return c, nil
}
