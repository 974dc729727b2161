package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// writeTime is how long a pipe may take to accept a write. A reader that has
// stopped reading must not stop a session.
const writeTime = 2 * time.Second

// File is a file that is written beside a session.
type File struct {
	*os.File
	regular  bool
	mode     fs.FileMode   // of a regular file
	patience time.Duration // of a write into another
}

// Create opens the file at path for writing: a new one with mode 0600, since it
// tells what an agent did; a file that is there keeps its mode and loses its
// content. What is no regular file, a pipe or a device, is written as a stream;
// a named pipe must have its reader.
func Create(path string) (*File, error) {
	f, err := open(path)
	if err != nil || !f.regular {
		return f, err
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// CreatePrivate is [Create] for what holds secrets: a regular file that is there
// gets mode 0600 as well.
func CreatePrivate(path string) (*File, error) {
	f, err := Create(path)
	if err != nil || !f.regular {
		return f, err
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// open is Create that leaves the content.
func open(path string) (*File, error) {
	flags := os.O_RDWR | os.O_CREATE
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		// Without O_NONBLOCK a named pipe without a reader would block for ever.
		flags = os.O_WRONLY | syscall.O_NONBLOCK
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, syscall.ENXIO) {
		err = fmt.Errorf("open %s: no process reads this pipe", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.Mode().IsRegular() {
		return &File{File: f, regular: true, mode: info.Mode().Perm()}, nil
	}
	return &File{File: f, patience: writeTime}, nil
}

// Write writes p as a whole or fails.
func (f *File) Write(p []byte) (int, error) {
	if !f.regular {
		_ = f.SetWriteDeadline(time.Now().Add(f.patience)) // devices have none
	}
	n, err := f.File.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the reader has not taken %d bytes for %v", len(p)-n, f.patience)
	}
	return n, err
}
