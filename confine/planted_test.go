//go:build linux

package confine

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A library that is none is not granted, whoever lists it.
func TestPlantedLibrary(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/id", "secret", 0o600)
	c := &closure{grants: newGrants(dir), dir: dir}
	c.library(dir+"/id", "library of it", nil)
	if got := c.grants.sorted(); len(got) != 0 {
		t.Errorf("granted: %+v", got)
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0], "is no ELF file") {
		t.Errorf("notes: %q", c.notes)
	}
}

// A reason may name a script whose path no plan can spell: its directory can be.
func TestReasonsAreText(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/work/server.js", "", 0o600)
	link(t, "work/server.js", dir+"/\xff.js")
	p := planOf(t, dir, dir, "node", "\xff.js")
	if rightsOf(p, dir+"/work")&Read == 0 {
		t.Errorf("the script's directory is not granted: %v", granted(p))
	}
	if p.Digest() == "" {
		t.Error("no digest")
	}
}

// What a server that may write to its own program could leave for the next start
// to find: nothing of it makes a grant of a file that is no program or library, or
// of a directory that holds more than a package.
func TestPlantedClosure(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	dir := realDir(t)
	home, secret := dir+"/home", dir+"/home/id"
	write(t, secret, "secret", 0o600)
	write(t, dir+"/work/script", "#!"+secret+"\n", 0o700)
	write(t, dir+"/work/server.js", "", 0o600)
	for _, target := range []string{"/", home, dir, "/usr"} {
		os.Remove(dir + "/work/node_modules")
		link(t, target, dir+"/work/node_modules")
		for _, argv := range [][]string{{dir + "/work/script"}, {node, dir + "/work/server.js"}} {
			p, err := New(Request{Argv: argv, Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, Write: []string{dir + "/work"}})
			if err != nil {
				t.Fatal(err)
			}
			if g, ok := p.covers(secret, Read|Execute|Write); ok {
				t.Errorf("%q with node_modules to %s: %+v", argv, target, g)
			}
			if !slices.ContainsFunc(p.Notes, func(note string) bool { return strings.Contains(note, "the server may write to "+dir+"/work") }) {
				t.Errorf("%q: no note of it: %q", argv, p.Notes)
			}
		}
	}
}
