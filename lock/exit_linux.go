package lock

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the process has exited, and leaves it to be reaped. One
// that has itself traced (ptrace(2), PTRACE_TRACEME) and stops is killed: nobody
// here would ever let it go on.
func awaitExit(pid int) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		const killed, dumped, exited = 2, 3, 1 // CLD_KILLED, CLD_DUMPED, CLD_EXITED (sigaction(2))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || info.Code == exited || info.Code == killed || info.Code == dumped:
			return
		default:
			unix.Kill(pid, unix.SIGKILL)
			time.Sleep(time.Millisecond)
		}
	}
}

const seesExit = true
