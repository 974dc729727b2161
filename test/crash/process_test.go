//go:build linux

package crash

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processesOf are the processes that have text in their command line.
func processesOf(t *testing.T, text string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// One that has gone in the meantime, or waits for its parent, has none.
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits until the processes that have text in their command line have
// exited. It fails the test if one lives on.
func gone(t *testing.T, text string, within time.Duration) {
	t.Helper()
	deadline := time.Now().Add(within)
	for _, pid := range processesOf(t, text) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			t.Fatalf("pidfd_open: %v", err)
		}
		exit := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			n, err := unix.Poll(exit, max(0, int(time.Until(deadline).Milliseconds())))
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				t.Fatalf("poll: %v", err)
			}
			if n == 0 {
				t.Errorf("process %d lives on %v after wrap was killed", pid, within)
				unix.Kill(pid, unix.SIGKILL) // it is the server we started
			}
			break
		}
		unix.Close(fd)
	}
}
