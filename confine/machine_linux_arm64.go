package confine

import "golang.org/x/sys/unix"

const (
	auditMachine = unix.AUDIT_ARCH_AARCH64
	firstForeign = 0 // no second table under the same machine
)
