package interpose

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent: prctl(2) PR_SET_PDEATHSIG, so that a kill -9 of ours does not
// leave the server behind. It does not reach the server's own children.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit blocks until the process has exited, and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
