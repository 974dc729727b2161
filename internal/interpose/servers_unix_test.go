//go:build unix

package interpose

import (
	"os"
	"os/exec"
	"syscall"
)

// spawnSleeper starts a process that holds all of ours open, and returns its pid.
func spawnSleeper(ownSession bool) int {
	argv := script("sleep")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	if err := cmd.Start(); err != nil {
		return -1
	}
	return cmd.Process.Pid
}

// leaveGroup makes this process one of its parent's group.
func leaveGroup() {
	if group, err := syscall.Getpgid(os.Getppid()); err == nil {
		syscall.Setpgid(0, group)
	}
}
