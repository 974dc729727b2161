//go:build unix

package aar

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes flock(2), exclusive. It ends with the descriptor, so a killed
// process leaves no stale lock.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &LockedError{Path: f.Name(), Holder: lockHolder(f)}
	}
	if err != nil {
		return fmt.Errorf("record %s: could not lock it: %w", f.Name(), err)
	}
	return nil
}

// syncDir makes a new name in the directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
