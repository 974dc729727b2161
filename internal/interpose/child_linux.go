package interpose

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent: prctl(2) PR_SET_PDEATHSIG, so that a kill -9 of ours does not
// leave the server behind. It does not reach the server's own children.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit blocks until the process has exited, and leaves it to be reaped. It
// must be called by the thread that started the process.
//
// A process may have itself traced by its parent (ptrace(2), PTRACE_TRACEME), and
// waitid(2) then tells of its stops too. Those are no exits: it is let go of.
func awaitExit(pid int) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || !stops(info.Code):
			return
		case unix.PtraceDetach(pid) != nil:
			unix.Kill(pid, unix.SIGKILL)
			time.Sleep(time.Millisecond) // until it is dead, it is still stopped
		}
	}
}

// stops tells a stop from an end by the si_code of SIGCHLD (sigaction(2)).
func stops(code int32) bool {
	const trapped, stopped, continued = 4, 5, 6 // CLD_TRAPPED, CLD_STOPPED, CLD_CONTINUED
	return code == trapped || code == stopped || code == continued
}
