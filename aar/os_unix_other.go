//go:build unix && !linux

package aar

import "os"

// datasync is File.Sync: F_FULLFSYNC on macOS, where fsync(2) alone stops at
// the drive's cache.
func datasync(f *os.File) error { return f.Sync() }

// lockHolder: flock(2) does not tell.
func lockHolder(*os.File) string { return "another process" }
