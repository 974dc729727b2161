package derive

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// kernelPath is the path of what the kernel opens.
func kernelPath(t *testing.T, name string) (string, error) {
	t.Helper()
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	opened, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	return opened, nil
}

// kernelEntry is the path of the last name of a path, which is not followed.
func kernelEntry(t *testing.T, name string) (string, error) {
	t.Helper()
	fd, err := unix.Open(name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// randomPath is a spelling below root of names, dots and slashes.
func randomPath(rnd *rand.Rand, names []string) string {
	var b strings.Builder
	for range 1 + rnd.IntN(7) {
		b.WriteString([]string{"/", "/", "/", "//", "/./"}[rnd.IntN(5)])
		if rnd.IntN(4) == 0 {
			b.WriteString("..")
		} else {
			b.WriteString(names[rnd.IntN(len(names))])
		}
	}
	if rnd.IntN(5) == 0 {
		b.WriteString("/")
	}
	return b.String()
}

// The differential oracle: whatever the kernel opens is what was read.
func TestKernelOpensWhatWasRead(t *testing.T) {
	t.Parallel()
	const tries = 10_000
	rnd := rand.New(rand.NewPCG(3, 4))

	t.Run("without links", func(t *testing.T) {
		t.Parallel()
		rnd := rand.New(rand.NewPCG(1, 2))
		names := []string{"a", "b", "c d", "...", "\u00e9", "%2e", "a~"}
		root := scratch(t, nil)
		for _, x := range names {
			for _, y := range names {
				if err := os.MkdirAll(path.Join(root, x, y), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}
		opened := 0
		for range tries {
			raw := root + randomPath(rnd, names)
			want, err := kernelPath(t, raw)
			if err != nil {
				continue
			}
			opened++
			p := ReadPath(raw)
			if strings.Contains(raw, "%2e/") || strings.HasSuffix(raw, "%2e") {
				// A kernel takes it for a name; a server that decodes would not.
				if p.Fault != faultPathDisguised {
					t.Fatalf("%q: %+v", raw, p)
				}
				continue
			}
			if p.Fault != "" || p.Clean != want {
				t.Fatalf("%q opens %q, read as %+v", raw, want, p)
			}
		}
		if opened < tries/10 {
			t.Errorf("only %d of %d could be opened", opened, tries)
		}
	})

	t.Run("with links", func(t *testing.T) {
		t.Parallel()
		names := []string{"a", "b", "c", "l", "m", "n"}
		root := scratch(t, nil)
		for _, x := range names[:3] {
			for _, y := range names[:3] {
				if err := os.MkdirAll(path.Join(root, x, y), 0o700); err != nil {
					t.Fatal(err)
				}
			}
		}
		targets := []string{".", "..", "a", "b/c", "../a", "../../b", "../l", "m/../c", root, root + "/a/../b", "./n", "none", "../none/x", "/" + strings.TrimPrefix(root, "/") + "//c/"}
		for _, dir := range []string{"", "/a", "/b", "/c", "/a/a", "/a/b", "/b/c", "/c/a"} {
			for _, link := range names[3:] {
				if err := os.Symlink(targets[rnd.IntN(len(targets))], root+dir+"/"+link); err != nil {
					t.Fatal(err)
				}
			}
		}
		opened, twoWays := 0, 0
		for range tries {
			raw := root + randomPath(rnd, names)
			p := ResolvePath(raw)
			want, err := kernelPath(t, raw)
			switch {
			case errors.Is(err, unix.ELOOP):
				if p.Fault != faultPathLoop && p.Fault != faultPathTwoWays {
					t.Fatalf("%q loops, read as %+v", raw, p)
				}
				continue
			case err != nil:
				continue
			case p.Fault == faultPathTwoWays:
				twoWays++
				other, err := kernelPath(t, path.Clean(raw))
				entry, _ := kernelEntry(t, raw)
				otherEntry, _ := kernelEntry(t, path.Clean(raw))
				if err == nil && other == want && entry == otherEntry {
					t.Fatalf("%q opens %q either way, but %s", raw, want, p.Fault)
				}
				continue
			}
			opened++
			if p.Fault != "" || p.Clean != want {
				t.Fatalf("%q opens %q, read as %+v", raw, want, p)
			}
			bare := strings.TrimRight(raw, "/") // or the kernel follows even the last name
			if entry, err := kernelEntry(t, bare); !strings.HasSuffix(bare, ".") && (err != nil || entry != p.Entry) {
				t.Fatalf("%q is the name %q, %v, read as %+v", raw, entry, err, p)
			}
			// What is made through the path is made where it was read to be.
			if p := ResolvePath(raw + "/fresh"); p.Clean != path.Join(want, "fresh") && p.Fault != faultPathTwoWays {
				t.Fatalf("%q/fresh: %+v", raw, p)
			}
		}
		if opened < tries/20 || twoWays < tries/1000 {
			t.Errorf("of %d, %d could be opened, %d have two ways", tries, opened, twoWays)
		}
	})
}

// A link that dangles: the kernel makes its target.
func TestKernelWritesThroughDanglingLinks(t *testing.T) {
	t.Parallel()
	root := scratch(t, map[string]string{"in": "/", "out": "/", "in/link": "../out/made", "in/two": "link"}, "in", "out", "in/link", "in/two")
	p := ResolvePath(root + "/in/two")
	if err := os.WriteFile(root+"/in/two", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if want, err := kernelPath(t, root+"/in/two"); err != nil || p.Clean != want || p.Fault != "" {
		t.Errorf("made %q, %v; read as %+v", want, err, p)
	}
}

func TestMagicLinks(t *testing.T) {
	t.Parallel()
	root := scratch(t, map[string]string{"in": "/proc/self/root/etc"}, "in")
	for _, raw := range []string{
		"/proc/self/root/etc/passwd", "/proc/self/cwd", "/proc/thread-self", "/proc/self/fd/0", "/dev/fd/0", "/dev/stdin",
		fmt.Sprintf("/proc/%d/root", os.Getpid()), fmt.Sprintf("/proc/%d/exe", os.Getpid()), root + "/in/passwd",
	} {
		if _, err := os.Lstat(raw); err != nil && strings.HasPrefix(raw, "/dev/") {
			continue // a bare container
		}
		if p := ResolvePath(raw); p.Fault != faultPathMagic || p.Clean != "" {
			t.Errorf("%q: %+v", raw, p)
		}
	}
	if p := ResolvePath("/proc/version"); p.Fault != "" || p.Clean != "/proc/version" {
		t.Errorf("%+v", p)
	}
}
