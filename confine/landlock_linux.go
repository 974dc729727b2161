//go:build linux && (amd64 || arm64)

package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's rights of files, by what they mean for a Grant (landlock(7)).
const (
	fsRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Device files are not made: that takes a capability that is gone.
	fsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_REFER // else no rename and no link from one directory into another
	// What a rule on anything but a directory may hold.
	fsOfFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// fsHandled are all rights of files that a kernel with this ABI can handle, of
// those known here. A right that is handled and not granted is denied.
func fsHandled(abi int) uint64 {
	switch {
	case abi >= 9:
		return 1<<17 - 1 // RESOLVE_UNIX
	case abi >= devicesABI:
		return 1<<16 - 1 // IOCTL_DEV
	case abi >= filesABI:
		return 1<<15 - 1 // TRUNCATE
	case abi == 2:
		return 1<<14 - 1 // REFER
	case abi == 1:
		return 1<<13 - 1
	}
	return 0
}

// The ABIs that brought rights other than those of files.
const (
	netABI   = 4
	scopeABI = 6
)

// Sizes of struct landlock_ruleset_attr as it grew: an older kernel refuses a
// longer one.
func attrSize(abi int) uintptr {
	switch {
	case abi >= scopeABI:
		return 24
	case abi >= netABI:
		return 16
	}
	return 8
}

// landlockVersion asks for the ABI and the errata that the kernel has fixed.
func landlockVersion() (abi, errata int, err error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
	case unix.ENOSYS:
		return 0, 0, errors.New("this kernel is built without Landlock")
	case unix.EOPNOTSUPP:
		return 0, 0, errors.New("this kernel has Landlock switched off; boot it with landlock in the lsm= list")
	default:
		return 0, 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	e, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno == 0 {
		errata = int(e)
	}
	return int(v), errata, nil
}

// signalErratum is the bit of the erratum without whose fix signals cannot be
// scoped: threads of one process could not signal each other.
const signalErratum = 1 << 1

// restrictFiles puts the calling thread into a Landlock domain of the grants. TCP,
// abstract UNIX sockets and signals to processes outside are denied with it where
// the kernel knows how.
func (p *profile) restrictFiles() (l LandlockFacts) {
	var err error
	if l.ABI, l.Errata, err = landlockVersion(); err != nil {
		l.Fault = err.Error()
		return l
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: fsHandled(l.ABI)}
	if l.ABI >= netABI {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if l.ABI >= scopeABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		if l.Errata&signalErratum != 0 {
			attr.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
		}
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), attrSize(l.ABI), 0)
	if errno != 0 {
		l.Fault = "landlock_create_ruleset: " + errno.Error()
		return l
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	for _, g := range p.Grants {
		opened, err := grant(ruleset, g, attr.Handled_access_fs)
		switch {
		case err != nil && !opened:
			l.Missing = append(l.Missing, fmt.Sprintf("%s (%v)", g.Path, err))
		case err != nil:
			l.Fault = fmt.Sprintf("landlock_add_rule %s: %v", g.Path, err)
			return l
		default:
			l.Rules++
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		l.Fault = "landlock_restrict_self: " + errno.Error()
		return l
	}
	l.HandledFS, l.HandledNet, l.Scoped = attr.Handled_access_fs, attr.Handled_access_net, attr.Scoped
	return l
}

// grant adds one rule. opened tells whether the path could be opened.
func grant(ruleset int, g Grant, handled uint64) (opened bool, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if g.Path != procSelf {
		// The plan's paths have no links in them: one that has come to be there
		// since would grant what nobody saw.
		how.Resolve = unix.RESOLVE_NO_SYMLINKS
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, g.Path, &how)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return false, err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access(g.Rights, stat.Mode&unix.S_IFMT == unix.S_IFDIR) & handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return true, errno
	}
	return true, nil
}

// access is Rights in Landlock's bits. A rule on a file must not hold rights of
// directories: the kernel refuses it whole.
func access(rights Rights, directory bool) (bits uint64) {
	if rights&Read != 0 {
		bits |= fsRead
	}
	if rights&Execute != 0 {
		bits |= unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	if rights&Write != 0 {
		bits |= fsWrite
	}
	if rights&Ioctl != 0 {
		bits |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if !directory {
		bits &= fsOfFile
	}
	return bits
}
