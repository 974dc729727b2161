//go:build linux

// Command guest is the first process of a test kernel: it mounts what a program
// expects, runs /suite with the arguments that the kernel's command line has
// behind `--`, says how it ended and switches the machine off.
package main

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

func main() {
	for _, m := range []struct{ dir, kind string }{{"/proc", "proc"}, {"/sys", "sysfs"}, {"/dev", "devtmpfs"}, {"/tmp", "tmpfs"}} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			fmt.Println("guest:", err)
		}
		if err := unix.Mount(m.kind, m.dir, m.kind, 0, ""); err != nil {
			fmt.Println("guest: mount", m.dir, err)
		}
	}
	// The tests run as a child: the first process has privileges of its own.
	cmd := exec.Command("/suite", os.Args[1:]...)
	cmd.Env = []string{"PATH=/bin", "HOME=/root", "TMPDIR=/tmp"}
	cmd.Dir = "/tmp"
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		fmt.Println("guest: suite failed:", err)
	} else {
		fmt.Println("guest: suite passed")
	}
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("guest: power off:", err)
	}
}
