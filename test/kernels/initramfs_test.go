package kernels

import (
	"bytes"
	"fmt"
	"os"
)

// initramfs packs an initial root file system for a kernel: a cpio archive of
// format `newc` (Documentation/driver-api/early-userspace/buffer-format.rst).
type initramfs struct {
	buf bytes.Buffer
	ino int
}

const (
	modeDir  = 0o040755
	modeFile = 0o100755
	modeChar = 0o020600
)

func (a *initramfs) entry(name string, mode int, content []byte, major, minor int) {
	a.ino++
	fmt.Fprintf(&a.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.ino, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(name)+1, 0)
	a.buf.WriteString(name)
	a.buf.WriteByte(0)
	a.pad()
	a.buf.Write(content)
	a.pad()
}

func (a *initramfs) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

func (a *initramfs) directory(name string) { a.entry(name, modeDir, nil, 0, 0) }

func (a *initramfs) device(name string, major, minor int) {
	a.entry(name, modeChar, nil, major, minor)
}

func (a *initramfs) program(name, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	a.entry(name, modeFile, content, 0, 0)
	return nil
}

// write ends the archive and writes it.
func (a *initramfs) write(path string) error {
	a.entry("TRAILER!!!", 0, nil, 0, 0)
	return os.WriteFile(path, a.buf.Bytes(), 0o600)
}
