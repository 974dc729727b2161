//go:build unix

package derive

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scratch makes a tree: a name that ends in / is a directory, a -> b a link, the
// rest are files. It gives the tree's own resolved path.
func scratch(t *testing.T, tree map[string]string, order ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range order {
		full, target := filepath.Join(root, name), tree[name]
		switch {
		case target == "/":
			err = os.MkdirAll(full, 0o700)
		case target == "":
			err = os.WriteFile(full, nil, 0o600)
		default:
			err = os.Symlink(target, full)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestResolvePath(t *testing.T) {
	root := scratch(t, map[string]string{
		"share": "/", "share/sub": "/", "private": "/", "share/file": "", "private/key": "",
		"share/out": "../private", "share/key": "../private/key", "share/new": "../private/new",
		"share/deep": "new/x", "share/loop": "loop", "share/self": ".", "share/chain": "key", "abs": "",
	}, "share", "share/sub", "private", "share/file", "private/key", "share/out", "share/key", "share/new", "share/deep", "share/loop", "share/self", "share/chain")
	t.Chdir(filepath.Join(root, "share"))
	for _, tt := range []struct{ raw, clean, entry, fault string }{
		{root + "/share/file", "/share/file", "/share/file", ""},
		{root + "/share/none/yet", "/share/none/yet", "/share/none/yet", ""},
		{root + "/share/none/../file", "/share/file", "/share/file", ""},
		{root + "/share/none/../out/key", "/private/key", "/private/key", ""},
		{root + "/share/out/key", "/private/key", "/private/key", ""},
		{root + "/share/out", "/private", "/share/out", ""},
		{root + "/share/key", "/private/key", "/share/key", ""},
		{root + "/share/chain", "/private/key", "/share/chain", ""},
		// Writing through a dangling link makes what it points at.
		{root + "/share/new", "/private/new", "/share/new", ""},
		{root + "/share/deep", "/private/new/x", "/share/deep", ""},
		{root + "/share/self/self/file", "/share/file", "/share/file", ""},
		{root + "/share/file/below", "/share/file/below", "/share/file/below", ""},
		{"file", "/share/file", "/share/file", ""},
		{"./out//key", "/private/key", "/private/key", ""},
		{".", "/share", "/share", ""},
		{"file://" + root + "/share/out/key", "/private/key", "/private/key", ""},
		{root + "/share/sub/../file", "/share/file", "/share/file", ""},
		// A kernel goes to the parent of private, a path library back to share.
		{root + "/share/out/../file", "", "", faultPathTwoWays},
		{root + "/share/self/../share/file", "", "", faultPathTwoWays},
		{root + "/share/loop", "", "", faultPathLoop},
		{root + "/share/loop/x", "", "", faultPathLoop},
		{"../private/key", "", "", faultPathClimbs},
		{"~/x", "", "", faultPathHome},
	} {
		p := ResolvePath(tt.raw)
		want := Path{Raw: tt.raw, Fault: tt.fault, Resolved: AtDecision}
		if tt.fault == "" {
			want.Clean, want.Entry = root+tt.clean, root+tt.entry
		} else if read := ReadPath(tt.raw); read.Fault != "" {
			want = read
		}
		if p != want {
			t.Errorf("%q:\n got %+v\nwant %+v", tt.raw, p, want)
		}
	}
}

func TestResolvePathBoundsLinks(t *testing.T) {
	t.Parallel()
	root := scratch(t, nil, "end")
	previous := "end"
	for i := range maxLinks + 1 {
		name := fmt.Sprint("link", i)
		if err := os.Symlink(previous, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		previous = name
	}
	if p := ResolvePath(fmt.Sprint(root, "/link", maxLinks-1)); p.Fault != "" || p.Clean != root+"/end" {
		t.Errorf("%d links: %+v", maxLinks, p)
	}
	if p := ResolvePath(fmt.Sprint(root, "/link", maxLinks)); p.Fault != faultPathLoop {
		t.Errorf("%d links: %+v", maxLinks+1, p)
	}
}

func TestResolvePathOfNamesOnDisk(t *testing.T) {
	t.Parallel()
	root := scratch(t, nil)
	for link, target := range map[string]string{"control": "a\nb", "backslash": `a\b`, "bidi": "a\u202eb"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
		if p := ResolvePath(filepath.Join(root, link)); p.Fault != faultPathResolved || p.Clean != "" {
			t.Errorf("%s: %+v", link, p)
		}
	}
}

// A name no file system takes, and so no answer what it is.
func TestResolvePathThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	if p := ResolvePath(scratch(t, nil) + "/" + strings.Repeat("a", 1000)); p.Fault != faultPathAccess || p.Clean != "" {
		t.Errorf("%.80v", p)
	}
}

func TestResolvePathWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may look into every directory")
	}
	root := scratch(t, map[string]string{"closed": "/"}, "closed", "closed/file")
	if err := os.Chmod(filepath.Join(root, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(root, "closed"), 0o700)
	if p := ResolvePath(filepath.Join(root, "closed", "file")); p.Fault != faultPathAccess {
		t.Errorf("%+v", p)
	}
}

func BenchmarkResolvePath(b *testing.B) {
	root := b.TempDir()
	deep := filepath.Join(root, "a", "b", "c", "d", "e", "f")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		ResolvePath(deep + "/file")
	}
}
