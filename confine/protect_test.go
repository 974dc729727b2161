//go:build unix

package confine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestProtect(t *testing.T) {
	dir := realDirOf(t)
	mk := func(path string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mk("work/file")
	mk("keys/key")
	mk("workshop/policy.yaml")
	for path, target := range map[string]string{
		"work/link": "../keys/key", "keys/into": "../work/file", "alias": "work", "keys/hop": "../work/link", "keys/absent-in": "../work/new",
	} {
		if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) Grant {
		return Grant{Path: filepath.Join(dir, path), Tree: true, Rights: Read, Why: "--allow-read"}
	}
	change := func(path string) Grant {
		return Grant{Path: filepath.Join(dir, path), Tree: true, Rights: Read | Write, Why: "--allow-write"}
	}
	for _, c := range []struct {
		grant  Grant
		path   string
		secret bool
		can    string // what the server could, "" if nothing
	}{
		{change("work"), "keys/key", false, ""},
		{change("work"), "workshop/policy.yaml", false, ""}, // the same letters are not the same directory
		{change("work"), "work/file", false, "change"},
		{change("work"), "work/not-yet/deeper", false, "change"},
		{change("."), "keys/key", false, "change"},
		{change("work"), "work", false, "change"},
		{change("work"), "alias/file", false, "change"},
		{change("work"), "keys/../work/file", false, "change"},
		{change("work"), "keys/into", false, "change"},      // a link into the grant
		{change("work"), "work/link", false, "change"},      // a link in the grant: it can be turned elsewhere
		{change("work"), "keys/hop", false, "change"},       // over a link in the grant
		{change("work"), "keys/absent-in", false, "change"}, // a link to what could be made there
		{read("work"), "work/file", false, ""},
		{read("work"), "work/file", true, "read"},
		{read("keys"), "work/link", true, "read"},
		{read("work"), "work/link", true, ""}, // its target is elsewhere
		{read("work"), "keys/key", true, ""},
		{Grant{Path: filepath.Join(dir, "keys/key"), Rights: Read}, "keys/key", true, "read"},
		{Grant{Path: filepath.Join(dir, "keys/key"), Rights: Read}, "keys/key2", true, ""},
	} {
		p := &Plan{Grants: []Grant{c.grant}, dir: dir}
		for _, path := range []string{c.path, dir + "/" + c.path} {
			err := p.Protect(Protected{What: "the key", Path: path, Secret: c.secret})
			exposed, ok := errors.AsType[*ExposedError](err)
			switch {
			case ok != (c.can != "") || !ok && err != nil:
				t.Errorf("%s under %s: %v", path, c.grant.Path, err)
			case ok && !strings.Contains(exposed.Error(), "the server could "+c.can+" it"):
				t.Errorf("%s under %s: %v", path, c.grant.Path, err)
			}
		}
	}
}

// The kernel's own resolution is the oracle: the last place of a path is where
// it leads.
func TestPlacesAgreeWithTheSystem(t *testing.T) {
	realpath, err := exec.LookPath("realpath")
	if err != nil {
		t.Skip("realpath is not installed")
	}
	dir := realDirOf(t)
	for _, d := range []string{"a/b/c", "x/y"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, target := range map[string]string{"a/up": "..", "a/b/abs": dir + "/x", "x/y/rel": "../../a/b", "x/loop1": "loop2", "x/loop2": "loop1", "x/slash": "y/", "a/self": "."} {
		if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"a", "a/b/c", "a/up/x/y", "a/b/abs/y/rel/c", "a/b/abs/y/rel/abs/y/rel/c", "x/slash/rel", "a/self/self/self/b", "a/absent", "a/b/abs/absent", "a/b//c/./../c", "x/slash",
	} {
		full := dir + "/" + path
		out, err := exec.Command(realpath, "-m", full).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := places(full)
		if err != nil || got[len(got)-1] != strings.TrimSpace(string(out)) {
			t.Errorf("%s: %v %v, the system says %s", path, got, err, out)
		}
	}
	if _, err := places(dir + "/x/loop1"); err == nil {
		t.Error("a loop has an end")
	}
	if got, err := places(dir + "/a/up/x/slash/rel"); err != nil || !slices.Equal(got, []string{dir + "/a/up", dir + "/x/slash", dir + "/x/y/rel", dir + "/a/b"}) {
		t.Errorf("%v %v", got, err)
	}
}

func realDirOf(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
