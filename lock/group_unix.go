//go:build unix

package lock

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { signalGroup(cmd.Process.Pid, syscall.SIGTERM) }
func killGroup(cmd *exec.Cmd)      { signalGroup(cmd.Process.Pid, syscall.SIGKILL) }

// signalGroup signals the group that the process led, and the process if it has
// left that. That a group is empty or gone is no error.
func signalGroup(pid int, sig syscall.Signal) {
	syscall.Kill(-pid, sig)
	if group, err := unix.Getpgid(pid); err == nil && group != pid {
		syscall.Kill(pid, sig)
	}
}
