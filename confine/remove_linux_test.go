//go:build linux && (amd64 || arm64)

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A server's temporary directory goes with all that is in it: what its owner may
// not change, what is deeper than there are descriptors, links to elsewhere but
// not what they lead to.
func TestRemoveTree(t *testing.T) {
	const inChild = "AEGIS_TEST_REMOVE"
	dir := os.Getenv(inChild)
	if dir == "" {
		// In a process of its own: it has few descriptors, and is not root, whom no
		// mode keeps out.
		dir, err := os.MkdirTemp("", "aegis-remove-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestRemoveTree$")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), inChild+"="+dir)
		if os.Getuid() == 0 {
			const nobody = 65534
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Skipf("no other user can be had: %v", err)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}

	outside := filepath.Join(dir, "outside")
	mkdir(t, outside)
	file(t, filepath.Join(outside, "file"))
	limit := unix.Rlimit{Cur: 40, Max: 40}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for name, fill := range map[string]func(top string){
		"empty": func(string) {},
		"unchangeable": func(top string) {
			for i, mode := range []os.FileMode{0, 0o500, 0o300} {
				sub := filepath.Join(top, strconv.Itoa(i))
				mkdir(t, filepath.Join(sub, "sub"))
				file(t, filepath.Join(sub, "sub", "file"))
				for _, d := range []string{filepath.Join(sub, "sub"), sub} {
					if err := os.Chmod(d, mode); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		"unchangeable itself": func(top string) {
			file(t, filepath.Join(top, "file"))
			if err := os.Chmod(top, 0); err != nil {
				t.Fatal(err)
			}
		},
		"deep": func(top string) {
			for range 200 {
				top = filepath.Join(top, "d")
				mkdir(t, top)
				file(t, filepath.Join(top, "file"))
			}
		},
		"links": func(top string) {
			sub := filepath.Join(top, "sub")
			mkdir(t, filepath.Join(sub, "deeper"))
			for _, at := range []string{top, sub} {
				if err := os.Symlink(outside, filepath.Join(at, "link")); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(sub, 0o500); err != nil {
				t.Fatal(err)
			}
		},
	} {
		top := filepath.Join(dir, name)
		mkdir(t, top)
		fill(top)
		if err := removeTree(top); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(top); err == nil {
			t.Errorf("%s is left", name)
		}
		if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func file(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
