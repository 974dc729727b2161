//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package interpose

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent: there is no parent-death signal here. A killed aegis leaves a
// server that ends when it reads the end of its stdin.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit blocks until the process has exited, and leaves it to be reaped:
// kqueue(2), EVFILT_PROC. A process that has exited already is not found.
func awaitExit(pid int) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(kq)
	var exit unix.Kevent_t
	unix.SetKevent(&exit, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	exit.Fflags = unix.NOTE_EXIT
	for {
		n, err := unix.Kevent(kq, []unix.Kevent_t{exit}, make([]unix.Kevent_t, 1), nil)
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
