//go:build linux && (amd64 || arm64)

package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data. Arguments are 64 bits wide; the low half is
// looked at, as the kernel does with the int arguments that are judged here, so
// that bits above them hide nothing.
const (
	offsetNumber  = 0
	offsetMachine = 4
)

func offsetArgument(i uint32) uint32 { return 16 + 8*i }

// Answers of the filter.
const (
	answerAllow = unix.SECCOMP_RET_ALLOW
	answerKill  = unix.SECCOMP_RET_KILL_PROCESS
	// Refused like a file that was not granted: programs expect it.
	answerDenied = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	// Programs that probe for the call do without it.
	answerMissing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	answerPerm    = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
)

// socketTypeMask separates the type of a socket from its flags (SOCK_TYPE_MASK).
const socketTypeMask = 0xf

// program is a seccomp filter in the making. Its default is to allow: it is a
// list of what is denied, not a sandbox of system calls.
type program []unix.SockFilter

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

func (p *program) load(offset uint32)   { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) answer(action uint32) { p.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// answerIf answers if the comparison of what is loaded with k holds.
func (p *program) answerIf(compare uint16, k, action uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, k, 0, 1)
	p.answer(action)
}

// call judges one system call by body, which must answer on every path.
func (p *program) call(number uint32, body func(*program)) {
	var b program
	body(&b)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, uint8(len(b)))
	*p = append(*p, b...)
}

// filter is the seccomp filter of the profile.
func (p *profile) filter() []unix.SockFilter {
	onSocket := answerDenied
	if p.Kill {
		onSocket = answerKill
	}
	var f program
	// A process can enter the kernel through another system call table than its
	// own (int 0x80, x32), where the numbers mean other calls.
	f.load(offsetMachine)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditMachine, 1, 0)
	f.answer(answerKill)
	f.load(offsetNumber)
	if firstForeign != 0 {
		f.answerIf(unix.BPF_JGE, firstForeign, answerKill)
	}
	// Requests in a ring reach sockets without a system call to judge.
	for _, number := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
		f.answerIf(unix.BPF_JEQ, number, answerMissing)
	}
	for _, number := range []uint32{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4} {
		f.answerIf(unix.BPF_JEQ, number, answerDenied)
	}
	f.call(unix.SYS_SOCKET, func(b *program) {
		b.load(offsetArgument(0))
		// Look-ups of users try a UNIX socket first, so that it must fail, not kill.
		b.answerIf(unix.BPF_JEQ, unix.AF_UNIX, answerDenied)
		b.answer(onSocket)
	})
	// A connected pair is a pipe, and runtimes need it. One of datagrams can be
	// sent to any name; SOCK_RAW is made one of datagrams.
	f.call(unix.SYS_SOCKETPAIR, func(b *program) {
		b.load(offsetArgument(0))
		b.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_UNIX, 1, 0)
		b.answer(answerDenied)
		b.load(offsetArgument(1))
		b.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, socketTypeMask, 0, 0)
		b.answerIf(unix.BPF_JEQ, unix.SOCK_STREAM, answerAllow)
		b.answerIf(unix.BPF_JEQ, unix.SOCK_SEQPACKET, answerAllow)
		b.answer(answerDenied)
	})
	// A new user namespace would give back every capability within it. clone3's
	// flags lie in memory where a filter cannot look; clone does what it does.
	f.answerIf(unix.BPF_JEQ, unix.SYS_CLONE3, answerMissing)
	for _, number := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		f.call(number, func(b *program) {
			b.load(offsetArgument(0))
			b.answerIf(unix.BPF_JSET, unix.CLONE_NEWUSER, answerPerm)
			b.answer(answerAllow)
		})
	}
	// Who owns a user namespace has every capability in it. One made before, by a
	// container without root, can be found by its handle and entered.
	f.answerIf(unix.BPF_JEQ, unix.SYS_SETNS, answerPerm)
	// A message queue is made and removed past Landlock, which sees it opened only.
	for _, number := range []uint32{unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK} {
		f.answerIf(unix.BPF_JEQ, number, answerDenied)
	}
	// It would make aegis the tracer of the server, whose stops look like its end.
	f.call(unix.SYS_PTRACE, func(b *program) {
		b.load(offsetArgument(0))
		b.answerIf(unix.BPF_JEQ, unix.PTRACE_TRACEME, answerPerm)
		b.answer(answerAllow)
	})
	// Input put into the terminal that aegis was started from would be read by
	// the user's shell.
	f.call(unix.SYS_IOCTL, func(b *program) {
		b.load(offsetArgument(1))
		b.answerIf(unix.BPF_JEQ, unix.TIOCSTI, answerPerm)
		b.answerIf(unix.BPF_JEQ, tioclinux, answerPerm)
		b.answer(answerAllow)
	})
	// A limit set on the process of aegis, CPU time above all, would end it: the
	// kernel asks for no more than the same user. 0 is the caller itself.
	f.call(unix.SYS_PRLIMIT64, func(b *program) {
		b.load(offsetArgument(0))
		b.answerIf(unix.BPF_JEQ, 0, answerAllow)
		b.answer(answerPerm)
	})
	f.answer(answerAllow)
	return f
}

// tioclinux pastes into a console (ioctl_console(2)).
const tioclinux = 0x541c

// installFilter installs a filter on the calling thread.
func installFilter(f []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(f)
	switch errno {
	case 0:
		return nil
	case unix.ENOSYS, unix.EINVAL:
		return seccompError{errno, "this kernel has no seccomp filters"}
	}
	return seccompError{errno, "seccomp"}
}

type seccompError struct {
	error
	what string
}

func (e seccompError) Error() string { return e.what + ": " + e.error.Error() }
