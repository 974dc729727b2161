package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// memory returns what a process holds in memory and the most it ever held, in
// MiB (proc_pid_status(5)); 0 if that cannot be known.
func memory(pid int) (now, peak float64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			now = kib / 1024
		} else if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			peak = kib / 1024
		}
	}
	return now, peak
}

// isTmpfs reports whether dir lies on a tmpfs, where a sync costs nothing.
func isTmpfs(dir string) bool {
	const magic = 0x01021994 // statfs(2)
	var fs syscall.Statfs_t
	return syscall.Statfs(dir, &fs) == nil && int64(fs.Type) == magic
}
