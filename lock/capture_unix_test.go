//go:build unix

package lock

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nothing of a server's process group outlives the capture.
func TestGroupIsGone(t *testing.T) {
	t.Parallel()
	_, err := captured(t, &fake{Fault: "child"}, CaptureOptions{})
	e, ok := errors.AsType[*CaptureError](err)
	if !ok || len(e.Stderr) == 0 {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(e.Stderr[0], "grandchild "))
	if err != nil {
		t.Fatal(err)
	}
	// Killed; whoever inherited it may take a moment to reap it.
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if syscall.Kill(pid, 0) == syscall.ESRCH || zombie(pid) {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}
