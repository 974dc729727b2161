package aar

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock with LockFileEx on one byte far behind any
// record, so that verify may read the file meanwhile.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return &LockedError{Path: f.Name(), Holder: "another process"}
	}
	if err != nil {
		return fmt.Errorf("record %s: could not lock it: %w", f.Name(), err)
	}
	return nil
}

// syncDir does nothing: Windows has no handle that syncs a directory, and NTFS
// journals its names.
func syncDir(string) error { return nil }

// datasync is FlushFileBuffers.
func datasync(f *os.File) error { return f.Sync() }
