//go:build unix

package interpose

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// signalGroup signals every process of the child's group, and the child if it has
// left that. That a group is empty or gone is no error. The child is not reaped
// before this is done with: its number is its own.
func (c *child) signalGroup(sig syscall.Signal) {
	pid := c.cmd.Process.Pid
	syscall.Kill(-pid, sig)
	if group, err := unix.Getpgid(pid); err == nil && group != pid {
		syscall.Kill(pid, sig)
	}
}

func (c *child) terminate() { c.signalGroup(syscall.SIGTERM) }

func (c *child) kill() { c.signalGroup(syscall.SIGKILL) }

// pass hands a signal of ours on to the group.
func (c *child) pass(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok {
		c.signalGroup(s)
	}
}

func exitOf(state *os.ProcessState) Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return Exit{Signal: unix.SignalName(status.Signal()), Number: int(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

func signalNumber(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return int(s)
	}
	return 0
}
