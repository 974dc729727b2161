//go:build linux

package confine

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

func peerPID() int {
	pid, _ := strconv.Atoi(os.Getenv(probePeer))
	return pid
}

func ofPeer(name string, flags int) func(string) error {
	return func(string) error { return open("/proc/"+os.Getenv(probePeer)+"/"+name, flags) }
}

// statusLine is a line of the process's own status.
func statusLine(name string) string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(line))
}

var processProbes = []probe{
	{name: "environ-of-aegis", free: "ok", held: "EACCES", try: ofPeer("environ", unix.O_RDONLY)},
	{name: "environ-of-aegis-with-proc", free: "ok", held: "EACCES", wide: true, try: ofPeer("environ", unix.O_RDONLY)},
	{name: "memory-of-aegis", free: "ok", held: "EACCES", try: ofPeer("mem", unix.O_RDWR)},
	{name: "memory-of-aegis-with-proc", free: "ok", held: "EACCES", wide: true, try: ofPeer("mem", unix.O_RDONLY)},
	{name: "descriptors-of-aegis", free: "ok", held: "EACCES", try: ofPeer("fd/0", unix.O_RDONLY|unix.O_NONBLOCK)},
	{name: "descriptors-of-aegis-with-proc", free: "ok", held: "EACCES", wide: true, try: ofPeer("fd/0", unix.O_RDONLY|unix.O_NONBLOCK)},
	{name: "root-of-aegis-with-proc", free: "ok", held: "EACCES", wide: true, try: func(root string) error {
		return open("/proc/"+os.Getenv(probePeer)+"/root"+root+"/out/secret", unix.O_RDONLY)
	}},
	{name: "descriptor-by-pidfd", free: "ok", held: "EPERM", try: func(string) error {
		fd, err := unix.PidfdOpen(peerPID(), 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, 2, 0)
		return err
	}},
	{name: "ptrace", why: "it would stop the tests", held: "EPERM", try: func(string) error { return unix.PtraceSeize(peerPID()) }},
	{name: "read-memory", free: "EFAULT", held: "EPERM", try: func(string) error {
		buf := make([]byte, 8)
		local := []unix.Iovec{{Base: &buf[0], Len: 8}}
		_, err := unix.ProcessVMReadv(peerPID(), local, []unix.RemoteIovec{{Base: 8, Len: 8}}, 0)
		return err
	}},
	{name: "signal-aegis", free: "ok", held: "EPERM", abi: 6, erratum: 2, try: func(string) error { return unix.Kill(peerPID(), 0) }},
	{name: "signal-by-pidfd", free: "ok", held: "EPERM", abi: 6, erratum: 2, try: func(string) error {
		fd, err := unix.PidfdOpen(peerPID(), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	}},
	{name: "signal-by-owner", free: "ok", held: "EPERM", abi: 6, erratum: 2, try: func(string) error {
		return unix.Tgkill(peerPID(), peerPID(), 0)
	}},
	{name: "limit-aegis", free: "ok", held: "EPERM", try: func(string) error {
		var now unix.Rlimit
		return unix.Prlimit(peerPID(), unix.RLIMIT_CPU, nil, &now)
	}},
	{name: "user-namespace", why: "a system may switch it off", held: "EPERM", try: func(string) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{name: "user-namespace-by-clone", why: "it would make a process", held: "EPERM", try: func(string) error {
		return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD))
	}},
	{name: "enter-namespace", free: "EBADF", held: "EPERM", try: func(string) error { return call(unix.SYS_SETNS, ^uintptr(0), 0) }},
	{name: "traced-by-aegis", why: "a stop would end its session", held: "EPERM", try: func(string) error {
		return call(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0)
	}},
	{name: "clone3", free: "EINVAL", held: "ENOSYS", try: func(string) error { return call(unix.SYS_CLONE3, 0, 0) }},
	{name: "network-namespace", free: "ok", held: "EPERM", root: true, try: func(string) error { return unix.Unshare(unix.CLONE_NEWNET) }},
	{name: "capabilities", free: "ok", held: "none", root: true, try: func(string) error {
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if set == "CapBnd" && os.Getuid() != 0 {
				continue // not droppable, and of no use, without privilege
			}
			if statusLine(set) != "0000000000000000" {
				return nil
			}
		}
		return errors.New("none")
	}},
	{name: "new-privileges", free: "ok", held: "none", try: func(string) error {
		if statusLine("NoNewPrivs") == "1" {
			return errors.New("none")
		}
		return nil
	}},
	{name: "terminal-input", free: "ENOTTY", held: "EPERM", try: func(string) error {
		var c byte
		return call(unix.SYS_IOCTL, 1, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	}},
	{name: "terminal-input-beyond-32-bits", free: "ENOTTY", held: "EPERM", try: func(string) error {
		var c byte
		return call(unix.SYS_IOCTL, 1, 1<<32|unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	}},
	{name: "console-paste", free: "ENOTTY", held: "EPERM", try: func(string) error {
		var c byte
		return call(unix.SYS_IOCTL, 1, 0x541c, uintptr(unsafe.Pointer(&c)))
	}},
}
