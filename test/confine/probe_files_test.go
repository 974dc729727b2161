//go:build linux

package confine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// open opens and closes.
func open(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// moved makes both spellings of a denied move one: a kernel answers EXDEV when a
// copy could be allowed.
func moved(err error) error {
	if errors.Is(err, unix.EXDEV) {
		return unix.EACCES
	}
	return err
}

var fileProbes = []probe{
	{name: "read-file", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/out/secret", unix.O_RDONLY) }},
	{name: "list-directory", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/out", unix.O_RDONLY|unix.O_DIRECTORY) }},
	{name: "write-file", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/out/secret", unix.O_WRONLY) }},
	{name: "write-readable-file", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/ro/file", unix.O_WRONLY|unix.O_APPEND) }},
	{name: "truncate-file", free: "ok", held: "EACCES", try: func(root string) error { return unix.Truncate(root+"/out/secret", 0) }},
	{name: "truncate-readable-file", free: "ok", held: "EACCES", try: func(root string) error { return unix.Truncate(root+"/ro/file", 0) }},
	{name: "create-file", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/out/new", unix.O_WRONLY|unix.O_CREAT) }},
	{name: "create-anonymous-file", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/out", unix.O_WRONLY|unix.O_TMPFILE) }},
	{name: "remove-file", free: "ok", held: "EACCES", try: func(root string) error { return unix.Unlink(root + "/out/secret") }},
	{name: "remove-readable-file", free: "ok", held: "EACCES", try: func(root string) error { return unix.Unlink(root + "/ro/file") }},
	{name: "make-directory", free: "ok", held: "EACCES", try: func(root string) error { return unix.Mkdir(root+"/out/d", 0o700) }},
	{name: "remove-directory", free: "ok", held: "EACCES", try: func(root string) error { return unix.Rmdir(root + "/out/empty") }},
	{name: "make-fifo", free: "ok", held: "EACCES", try: func(root string) error { return unix.Mkfifo(root+"/out/fifo", 0o600) }},
	{name: "make-symlink", free: "ok", held: "EACCES", try: func(root string) error { return unix.Symlink("x", root+"/out/link") }},
	{name: "make-device", free: "ok", held: "EACCES", root: true, try: func(root string) error { return unix.Mknod(root+"/rw/null", unix.S_IFCHR|0o600, 1<<8|3) }},
	{name: "rename-out", free: "ok", held: "EACCES", try: func(root string) error { return moved(unix.Rename(root+"/rw/file", root+"/out/file")) }},
	{name: "rename-in", free: "ok", held: "EACCES", try: func(root string) error { return moved(unix.Rename(root+"/out/secret", root+"/rw/secret")) }},
	{name: "rename-exchange", free: "ok", held: "EACCES", try: func(root string) error {
		return moved(unix.Renameat2(unix.AT_FDCWD, root+"/out/secret", unix.AT_FDCWD, root+"/rw/file", unix.RENAME_EXCHANGE))
	}},
	{name: "link-in", free: "ok", held: "EACCES", try: func(root string) error { return moved(unix.Link(root+"/out/secret", root+"/rw/linked")) }},
	{name: "link-readable-in", free: "ok", held: "EACCES", try: func(root string) error { return moved(unix.Link(root+"/ro/file", root+"/rw/linked")) }},
	{name: "link-out", free: "ok", held: "EACCES", try: func(root string) error { return moved(unix.Link(root+"/rw/file", root+"/out/linked")) }},
	{name: "symlink-out", free: "ok", held: "EACCES", try: func(root string) error {
		if err := unix.Symlink(root+"/out/secret", root+"/rw/link"); err != nil {
			return err
		}
		return open(root+"/rw/link", unix.O_RDONLY)
	}},
	{name: "dot-dot", free: "ok", held: "EACCES", try: func(root string) error { return open(root+"/ro/../out/secret", unix.O_RDONLY) }},
	{name: "proc-self-root", free: "ok", held: "EACCES", try: func(root string) error { return open("/proc/self/root"+root+"/out/secret", unix.O_RDONLY) }},
	{name: "path-descriptor", free: "ok", held: "EACCES", try: func(root string) error {
		fd, err := unix.Open(root+"/out", unix.O_PATH, 0)
		if err != nil {
			return err
		}
		_, err = unix.Openat(fd, "secret", unix.O_RDONLY, 0)
		return err
	}},
	{name: "inherited-descriptor", free: "ok", held: "EBADF", try: func(string) error {
		_, err := unix.Read(inheritedFD, make([]byte, 1))
		return err
	}},
	{name: "open-by-handle", free: "ok", held: "EPERM", root: true, try: func(root string) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, root+"/out/secret", 0)
		if err != nil {
			return err
		}
		mount, err := unix.Open(root+"/ro", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(mount, handle, unix.O_RDONLY)
		return err
	}},
	{name: "execute-file", free: "ok", held: "EACCES", try: func(root string) error { return execute(root + "/out/program") }},
	{name: "execute-written-file", free: "ok", held: "EACCES", try: func(root string) error { return execute(root + "/rw/program") }},
	{name: "mount", free: "ok", held: "EPERM", root: true, try: func(root string) error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		return unix.Mount(root+"/out", root+"/rw", "", unix.MS_BIND, "")
	}},
	{name: "chroot", free: "ok", held: "EPERM", root: true, try: func(root string) error { return unix.Chroot(root + "/rw") }},
	{name: "shadow", free: "ok", held: "EACCES", root: true, try: func(string) error { return open("/etc/shadow", unix.O_RDONLY) }},
	{name: "posix-queue-remove", why: "not in every kernel", held: "EACCES", try: func(string) error {
		name, err := unix.BytePtrFromString("aegis-none")
		if err != nil {
			return err
		}
		// Where it is not denied it is looked for, and not there.
		return call(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)))
	}},
	{name: "terminal-read", why: "there may be no terminal", held: "EACCES", try: func(string) error { return open("/dev/tty", unix.O_RDONLY) }},
	{name: "posix-queue", why: "not in every kernel", held: "EACCES", try: func(root string) error {
		name, err := unix.BytePtrFromString("aegis-" + filepath.Base(filepath.Dir(root)) + itoa(os.Getpid()))
		if err != nil {
			return err
		}
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o600, 0, 0, 0)
		if errno != 0 {
			return errno
		}
		unix.Close(int(fd))
		return call(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)))
	}},
	{name: "device-ioctl", free: "ENOTTY", held: "EACCES", abi: 5, try: func(string) error {
		fd, err := unix.Open("/dev/null", unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}},
}

// inheritedFD is where the tests leave a descriptor of a file that is not granted.
const inheritedFD = 3

// execute replaces this process. A program that runs says `ok` itself.
func execute(path string) error {
	return syscall.Exec(path, []string{path}, append(without(os.Environ(), probeName), probeName+"="+ran))
}

var limitProbes = []probe{
	{name: "stat", free: "ok", held: "ok", try: func(root string) error { var st unix.Stat_t; return unix.Stat(root+"/out/secret", &st) }},
	{name: "access", free: "ok", held: "ok", try: func(root string) error { return unix.Access(root+"/out/secret", unix.R_OK) }},
	{name: "readlink", free: "ok", held: "ok", try: func(root string) error {
		_, err := os.Readlink(root + "/out/symlink")
		return errors.Unwrap(err)
	}},
	{name: "change-directory", free: "ok", held: "ok", try: func(root string) error { return unix.Chdir(root + "/out") }},
	{name: "chmod", free: "ok", held: "ok", try: func(root string) error { return unix.Chmod(root+"/out/secret", 0o640) }},
	{name: "chown", free: "ok", held: "ok", try: func(root string) error { return unix.Chown(root+"/out/secret", os.Getuid(), os.Getgid()) }},
	{name: "utime", free: "ok", held: "ok", try: func(root string) error {
		return unix.UtimesNano(root+"/out/secret", make([]unix.Timespec, 2))
	}},
	{name: "setxattr", free: "ok", held: "ok", try: func(root string) error {
		err := unix.Setxattr(root+"/out/secret", "user.aegis", []byte("x"), 0)
		if errors.Is(err, unix.EOPNOTSUPP) {
			return nil // the file system of the scratch tree has none; Landlock did not object
		}
		return err
	}},
	{name: "watch", free: "ok", held: "ok", try: func(root string) error {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, root+"/out", unix.IN_ALL_EVENTS)
		return err
	}},
	{name: "lease", free: "ok", held: "ok", try: func(root string) error {
		f, err := os.Open(root + "/ro/file")
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		return err
	}},
	{name: "network-tables", free: "ok", held: "ok", try: func(string) error { return open("/proc/self/net/tcp", unix.O_RDONLY) }},
	{name: "process-group", why: "it would join that of the tests", held: "ok", try: func(string) error {
		group, err := unix.Getpgid(peerPID())
		if err != nil {
			return err
		}
		return unix.Setpgid(0, group)
	}},
	{name: "memfd-execute", free: "ok", held: "ok", try: func(string) error {
		fd, err := unix.MemfdCreate("program", unix.MFD_CLOEXEC)
		if err != nil {
			return err
		}
		self, err := os.ReadFile("/proc/self/exe")
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), "memfd")
		if _, err := f.Write(self); err != nil {
			return err
		}
		return execute("/proc/self/fd/" + itoa(fd))
	}},
	{name: "loader-execute", free: "ok", held: "ok", try: func(root string) error {
		loader := os.Getenv("AEGIS_PROBE_LOADER")
		return syscall.Exec(loader, []string{loader, root + "/rw/program"}, append(without(os.Environ(), probeName), probeName+"="+ran))
	}},
	{name: "cmdline-of-others", free: "ok", held: "ok", wide: true, try: func(string) error {
		text, err := os.ReadFile("/proc/" + os.Getenv(probePeer) + "/cmdline")
		if err == nil && !strings.Contains(string(text), filepath.Base(os.Args[0])) && len(text) == 0 {
			return errors.New("empty")
		}
		return err
	}},
	{name: "sysv-shared-memory", free: "ok", held: "ok", try: func(string) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	}},
	{name: "keyring", free: "ok", held: "ok", try: func(string) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
		return err
	}},
	{name: "renice-others", free: "ok", held: "ok", heldAsRoot: "EPERM", try: func(string) error {
		peer := peerPID()
		now, err := unix.Getpriority(unix.PRIO_PROCESS, peer)
		if err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, peer, 20-now)
	}},
	{name: "stream-pair", free: "ok", held: "ok", try: func(string) error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return err
	}},
}
