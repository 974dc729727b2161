package derive

import "golang.org/x/sys/unix"

// magicLinks reports whether dir is on procfs, whose links are not text to
// follow: self is another directory for each process, and root, cwd, exe and
// fd/N jump to an open file wherever that is (proc(5)).
func magicLinks(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) != nil || int64(st.Type) == unix.PROC_SUPER_MAGIC
}
