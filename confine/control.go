package confine

import (
	"fmt"
	"strings"
)

// Control is one thing that confinement asks of the kernel.
type Control struct {
	Name      string `json:"name"`
	Requested bool   `json:"requested"`
	Enforced  bool   `json:"enforced"`
	// Why says why it is not enforced, or what about it falls short.
	Why string `json:"why,omitzero"`
}

// The controls, in the order they are reported.
const (
	ControlFiles        = "files"        // opening, making and removing files beyond the grants (Landlock)
	ControlNetwork      = "network"      // sockets of every kind (seccomp)
	ControlSyscalls     = "syscalls"     // io_uring, namespaces, message queues, tracing by aegis, terminal input, limits of others, foreign system call tables (seccomp)
	ControlCapabilities = "capabilities" // none is left, and none can be regained
	ControlPrivileges   = "privileges"   // set-user-ID programs give nothing (no_new_privs)
	ControlDescriptors  = "descriptors"  // nothing is inherited but the three standard streams
	ControlDevices      = "devices"      // ioctl(2) on devices beyond the grants (Landlock)
	ControlSignals      = "signals"      // signals to processes outside (Landlock)
)

// The oldest Landlock ABI that a control can rest on. Below files' the truncate(2)
// of a file that was not granted empties it.
const (
	filesABI   = 3 // Linux 6.2
	devicesABI = 5 // Linux 6.10
	signalsABI = 6 // Linux 6.12
)

// Bits of Landlock's own (include/uapi/linux/landlock.h), for what is judged on
// every platform.
const (
	landlockIoctlDev    = 1 << 15
	landlockScopeSignal = 1 << 1
)

// required are the controls that confinement rests on. Without one of them the
// server does not start unless the best effort was asked for.
var required = map[string]bool{
	ControlFiles: true, ControlNetwork: true, ControlSyscalls: true,
	ControlCapabilities: true, ControlPrivileges: true, ControlDescriptors: true,
}

// controls judges the facts.
func (f *facts) controls() []Control {
	l := &f.Landlock
	list := []Control{
		control(ControlFiles, l.filesFault()),
		control(ControlNetwork, f.Seccomp),
		control(ControlSyscalls, f.Seccomp),
		control(ControlCapabilities, f.Capability),
		control(ControlPrivileges, f.Privileges),
		control(ControlDescriptors, f.Descriptors),
		control(ControlDevices, l.needs(l.HandledFS&landlockIoctlDev != 0, devicesABI)),
		control(ControlSignals, l.signalsFault()),
	}
	if list[0].Enforced && len(l.Missing) > 0 {
		// Less was granted than asked for: nothing is open that should be closed.
		list[0].Why = "not granted, as it could not be opened: " + strings.Join(l.Missing, ", ")
	}
	return list
}

func control(name, fault string) Control {
	return Control{Name: name, Requested: true, Enforced: fault == "", Why: fault}
}

// needs is the fault of a control that rests on an ABI, "" if it is in force.
func (l *LandlockFacts) needs(inForce bool, abi int) string {
	switch {
	case inForce:
		return ""
	case l.Fault != "":
		return l.Fault
	default:
		return fmt.Sprintf("this kernel has Landlock ABI %d; it needs %d", l.ABI, abi)
	}
}

func (l *LandlockFacts) filesFault() string {
	if l.Fault == "" && l.ABI < filesABI {
		return fmt.Sprintf("this kernel has Landlock ABI %d; below %d truncate(2) empties files that were not granted", l.ABI, filesABI)
	}
	return l.Fault
}

func (l *LandlockFacts) signalsFault() string {
	inForce := l.Scoped&landlockScopeSignal != 0
	if !inForce && l.Fault == "" && l.ABI >= signalsABI {
		return "this kernel's scoping of signals is faulty (Landlock erratum 2 is not fixed)"
	}
	return l.needs(inForce, signalsABI)
}

// refusal lists what keeps the server from being started, nothing if it may.
func (f *facts) refusal() (why []string) {
	for _, c := range f.controls() {
		if required[c.Name] && !c.Enforced {
			why = append(why, c.Name+": "+c.Why)
		}
	}
	for _, path := range f.Landlock.Missing {
		why = append(why, "a granted path could not be opened: "+path)
	}
	return why
}
