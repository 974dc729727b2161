//go:build linux

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// planOf is the plan of argv in dir, with HOME at home.
func planOf(t *testing.T, dir, home string, argv ...string) *Plan {
	t.Helper()
	p, err := New(Request{Argv: argv, Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func rightsOf(p *Plan, path string) Rights {
	for _, g := range p.Grants {
		if g.Path == path {
			return g.Rights
		}
	}
	return 0
}

// The loader's own list is the oracle: every library that ldd(1) names is granted.
func TestLibrariesAreThoseTheLoaderMaps(t *testing.T) {
	ldd, err := exec.LookPath("ldd")
	if err != nil {
		t.Skip("ldd is not installed")
	}
	mapped := regexp.MustCompile(`(?m)(?:=> |^\s+)(/\S+) \(0x`)
	tried := 0
	for _, program := range []string{"/bin/sh", "/bin/ls", "node", "/usr/bin/python3", "git", "bash", "curl", "gcc", "perl"} {
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		out, err := exec.Command(ldd, path).CombinedOutput()
		if err != nil {
			continue // a script, or static
		}
		p := planOf(t, "/", "/nonexistent", path)
		for _, m := range mapped.FindAllStringSubmatch(string(out), -1) {
			real, err := filepath.EvalSymlinks(m[1])
			if err != nil {
				t.Fatal(err)
			}
			tried++
			if _, ok := p.covers(real, Read); !ok {
				t.Errorf("%s maps %s, which is not granted", path, real)
			}
		}
		// What it maps is not all that lies there.
		if g, ok := p.covers("/usr/lib", Read); ok {
			t.Errorf("%s: %+v is a whole tree", path, g)
		}
	}
	if tried == 0 {
		t.Skip("no dynamic program to try")
	}
}

// The kernel's own reading of `#!` is the oracle of the table below it.
func TestScriptsOfScripts(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/sh-script", "#!/bin/sh\necho $0\n", 0o700)
	write(t, dir+"/env-script", "#!/usr/bin/env sh\n", 0o700)
	write(t, dir+"/split-script", "#!/usr/bin/env -S A=1 sh -e\n", 0o700)
	write(t, dir+"/two", "#!"+dir+"/sh-script arg\n", 0o700)
	write(t, dir+"/absent-interpreter", "#!/no/such\n", 0o700)
	write(t, dir+"/unreadable", "#!/bin/sh\n", 0o700)
	sh, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	env, err := filepath.EvalSymlinks("/usr/bin/env")
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string][]string{
		"sh-script":    {dir + "/sh-script", sh},
		"env-script":   {dir + "/env-script", env, sh},
		"split-script": {dir + "/split-script", env, sh},
		"two":          {dir + "/two", dir + "/sh-script", sh},
	} {
		p := planOf(t, dir, "/nonexistent", "./"+script)
		for _, path := range want {
			if rightsOf(p, path) != Read|Execute {
				t.Errorf("%s: %s is granted %q", script, path, rightsOf(p, path))
			}
		}
		if len(p.Notes) > 0 {
			t.Errorf("%s: %v", script, p.Notes)
		}
	}
	p := planOf(t, dir, "/nonexistent", "./absent-interpreter")
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "/no/such is not granted") }) {
		t.Errorf("an interpreter that is not there: %v", p.Notes)
	}
	// A chain without end is given up as the kernel gives it up.
	write(t, dir+"/loop", "#!"+dir+"/loop\n", 0o700)
	if p := planOf(t, dir, "/nonexistent", "./loop"); len(p.Notes) != 1 {
		t.Errorf("a chain without end: %v", p.Notes)
	}
}

func TestInterpreterLine(t *testing.T) {
	for _, c := range []struct{ head, interpreter, argument, program string }{
		{"\x7fELF", "", "", ""},
		{"", "", "", ""},
		{"#", "", "", ""},
		{"#!/bin/sh\n", "/bin/sh", "", ""},
		{"#!/bin/sh", "/bin/sh", "", ""},
		{"#! \t/bin/sh \t\n", "/bin/sh", "", ""},
		{"#!/bin/sh -e -u\nx", "/bin/sh", "-e -u", ""},
		{"#!/bin/sh\x00rest\n", "/bin/sh", "", ""},
		{"#!/bin/sh\r\n", "/bin/sh\r", "", ""},
		{"#!/usr/bin/env node\n", "/usr/bin/env", "node", "node script"},
		{"#!/usr/bin/env -S node --flag\n", "/usr/bin/env", "-S node --flag", "node --flag script"},
		{"#!/usr/bin/env -Snode\n", "/usr/bin/env", "-Snode", "node script"},
		{"#!/usr/bin/env --split-string=node -x\n", "/usr/bin/env", "--split-string=node -x", "node -x script"},
		{"#!/usr/bin/env -S -i A=b node\n", "/usr/bin/env", "-S -i A=b node", "node script"},
		{"#!/usr/bin/env -u X\n", "/usr/bin/env", "-u X", ""},
		{"#!/usr/bin/env\n", "/usr/bin/env", "", ""},
	} {
		interpreter, argument := splitInterpreter(parseInterpreter([]byte(c.head)))
		if interpreter != c.interpreter || argument != c.argument {
			t.Errorf("%q: %q %q", c.head, interpreter, argument)
		}
		if !strings.HasSuffix(c.interpreter, "env") {
			continue
		}
		name, args := envCommand(argument, []string{"script"})
		if got := strings.Join(append([]string{name}, args...), " "); got != c.program {
			t.Errorf("%q runs %q", c.head, got)
		}
	}
}

func TestNodePackage(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	base := realDir(t)
	home := base + "/home/user"
	for _, file := range []string{
		"work/app/package.json", "work/app/dist/index.js", "work/app/other.js",
		"work/node_modules/dep/index.js", "work/node_modules/server/dist/index.js", "work/node_modules/server/node_modules/inner/x.js",
		"loose/dir/script.mjs",
		"home/user/package.json", "home/user/script.js", "home/user/.ssh/id", "home/user/node_modules/dep/index.js",
		"home/user/project/package.json", "home/user/project/index.js",
	} {
		write(t, filepath.Join(base, file), "", 0o600)
	}
	link(t, base+"/work/node_modules/server/dist/index.js", base+"/bin/server")
	for _, c := range []struct {
		argv    string
		granted string // trees and files below base
		note    string
	}{
		{"work/app/dist/index.js", "work/app/ work/node_modules/", ""},
		{"work/app/dist/index", "work/app/ work/node_modules/", ""},
		{"--title x work/app/other.js", "work/app/ work/node_modules/", ""},
		{"--max-old-space-size=64 work/app/other.js -e", "work/app/ work/node_modules/", ""},
		{"work/node_modules/server/dist/index.js --port 1", "work/node_modules/", ""},
		{"bin/server", "work/node_modules/", ""},
		{"loose/dir/script.mjs", "loose/dir/", ""},
		{"-r ./loose/dir/script.mjs work/app/other.js", "loose/dir/ work/app/ work/node_modules/", ""},
		{"home/user/project/index.js", "home/user/node_modules/ home/user/project/", ""},
		{"home/user/script.js", "home/user/node_modules/ home/user/script.js", "only the script is granted"},
		{"-e code work/app/other.js", "", ""},
		{"absent.js", "", "absent.js was not found"},
	} {
		p := planOf(t, base, home, append([]string{node}, strings.Fields(c.argv)...)...)
		var got []string
		for _, g := range p.Grants {
			if path, ok := strings.CutPrefix(g.Path, base+"/"); ok {
				if g.Tree {
					path += "/"
				}
				got = append(got, path)
				if g.Rights != Read {
					t.Errorf("node %s: %s is granted %s", c.argv, path, g.Rights)
				}
			}
		}
		if strings.Join(got, " ") != c.granted {
			t.Errorf("node %s: %v", c.argv, got)
		}
		if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("node %s: %s", c.argv, notes)
		}
	}
}

func TestPythonPlaces(t *testing.T) {
	const python = "/usr/bin/python3"
	real, err := filepath.EvalSymlinks(python)
	if err != nil {
		t.Skip("python3 is not installed")
	}
	base := realDir(t)
	home := base + "/home"
	version := filepath.Base(real)
	write(t, base+"/app/server.py", "", 0o600)
	write(t, home+"/script.py", "", 0o600)
	write(t, home+"/.local/lib/"+version+"/site-packages/m.py", "", 0o600)
	write(t, base+"/venv/pyvenv.cfg", "home = /usr/bin\n", 0o600)
	link(t, python, base+"/venv/bin/python")
	write(t, base+"/venv/bin/tool", "#!"+base+"/venv/bin/python\n", 0o700)
	stdlib := "/usr/lib/" + version
	for _, c := range []struct {
		argv string
		has  []string
		not  []string
	}{
		{python + " app/server.py", []string{stdlib, base + "/app", home + "/.local/lib/" + version}, []string{base + "/venv", home}},
		{python + " -m m", []string{stdlib}, []string{base + "/app"}},
		{python + " -X dev app/server.py", []string{stdlib, base + "/app"}, nil},
		{python + " home/script.py", []string{home + "/script.py"}, []string{home}},
		{"venv/bin/python app/server.py", []string{stdlib, base + "/venv", base + "/app"}, nil},
		{"venv/bin/tool", []string{stdlib, base + "/venv"}, []string{base + "/app"}},
	} {
		p := planOf(t, base, home, strings.Fields(c.argv)...)
		for _, path := range c.has {
			if _, ok := p.covers(path, Read); !ok {
				t.Errorf("%s: %s is not granted", c.argv, path)
			}
		}
		for _, path := range c.not {
			if g, ok := p.covers(path, Read); ok {
				t.Errorf("%s: %s is granted by %+v", c.argv, path, g)
			}
		}
	}
}

// Nothing that is guessed from a script's place is a whole system tree.
func TestGuessesAreNarrow(t *testing.T) {
	c := &closure{grants: newGrants("/"), env: environ{[]string{"HOME=/root"}}, dir: "/"}
	for _, dir := range []string{"/", "/etc", "/root", "/home", "/tmp", "/usr", "/var"} {
		if !c.tooWide(dir) {
			t.Errorf("%s would be granted whole", dir)
		}
	}
	for _, dir := range []string{"/app", "/srv/server", "/root/project", "/usr/lib/node_modules", "/tmp/x"} {
		if c.tooWide(dir) {
			t.Errorf("%s would not be granted", dir)
		}
	}
}

func TestIsPython(t *testing.T) {
	for name, want := range map[string]bool{
		"python": true, "python3": true, "python3.11": true, "python3.9": true,
		"python2": false, "python2.7": false, "python3.": false, "python3.11-config": false, "python3.1.2": false, "pythonw": false, "ipython": false, "python33": false,
	} {
		if isPython(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
