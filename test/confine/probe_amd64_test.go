//go:build linux

package confine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// machineProbes enter the kernel through another table than the process's own.
var machineProbes = []probe{
	{name: "int-0x80", why: "a kernel may be built without it", held: "SIGSYS", try: func(string) error {
		// mov eax, 20 (getpid in the i386 table); int 0x80; ret
		code := []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3}
		page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		copy(page, code)
		entry := unsafe.Pointer(&page[0])
		function := unsafe.Pointer(&entry)
		(*(*func())(unsafe.Pointer(&function)))()
		return nil
	}},
	{name: "x32", free: "ENOSYS", why: "", held: "SIGSYS", try: func(string) error {
		return call(0x40000000 | unix.SYS_GETPID)
	}},
	{name: "x32-socket", free: "", why: "a kernel may have the x32 table", held: "SIGSYS", try: func(string) error {
		return call(0x40000000|unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)
	}},
}
