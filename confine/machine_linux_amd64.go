package confine

import "golang.org/x/sys/unix"

const (
	auditMachine = unix.AUDIT_ARCH_X86_64
	firstForeign = 0x40000000 // __X32_SYSCALL_BIT: the x32 table, under the same machine
)
