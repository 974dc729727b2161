package lock

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit blocks until the process has exited, and leaves it to be reaped.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

const seesExit = true
