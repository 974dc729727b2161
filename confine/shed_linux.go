//go:build linux && (amd64 || arm64)

package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropCapabilities empties every capability set of the calling thread. With an
// empty bounding set an execve(2) as root does not bring them back.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear the ambient capabilities: %w", err)
	}
	for capability := uintptr(0); ; capability++ {
		in, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, capability, 0, 0, 0)
		if err != nil {
			break // past the last one
		}
		if in == 0 {
			continue
		}
		// Who may not drop it has none, and with no_new_privs gets none.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("drop capability %d: %w", capability, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// signalIgnored is SIG_IGN, and numbers of signals run to 64.
const (
	signalIgnored = 1
	lastSignal    = 64
	signalSetSize = lastSignal / 8
)

// kernelAction is struct sigaction of rt_sigaction(2) on amd64 and arm64.
type kernelAction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

// resetSignals gives the server the dispositions and the mask of a program just
// started: execve(2) keeps what is ignored and what is blocked.
func resetSignals() error {
	for sig := uintptr(1); sig <= lastSignal; sig++ {
		var old, standard kernelAction
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&old)), signalSetSize, 0, 0); errno != 0 {
			return fmt.Errorf("read the disposition of signal %d: %w", sig, errno)
		}
		if old.handler != signalIgnored {
			continue
		}
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&standard)), 0, signalSetSize, 0, 0); errno != 0 {
			return fmt.Errorf("reset the disposition of signal %d: %w", sig, errno)
		}
	}
	var empty uint64
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&empty)), 0, signalSetSize, 0, 0); errno != 0 {
		return fmt.Errorf("reset the signal mask: %w", errno)
	}
	return nil
}
