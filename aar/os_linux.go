package aar

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// datasync is fdatasync(2): the data and the size, not the timestamps.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lockHolder names the process that holds the lock, from /proc/locks (proc(5)):
// `1: FLOCK ADVISORY WRITE <pid> <major>:<minor>:<inode> 0 EOF`.
func lockHolder(f *os.File) string {
	const unknown = "another process"
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil {
		return unknown
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return unknown
	}
	defer locks.Close()
	inode := fmt.Sprintf(":%d", stat.Ino)
	for s := bufio.NewScanner(locks); s.Scan(); {
		if field := strings.Fields(s.Text()); len(field) > 5 && field[1] == "FLOCK" && strings.HasSuffix(field[5], inode) {
			return "process " + field[4]
		}
	}
	return unknown
}
