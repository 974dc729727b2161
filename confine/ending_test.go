package confine

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Messages as programs write them, and what is read from them.
func TestDenialsAreRead(t *testing.T) {
	for _, c := range []struct {
		stderr string
		want   denial
		ok     bool
	}{
		{"", denial{}, false},
		{"no such file or directory: /x", denial{}, false},
		{"Error: EACCES: permission denied, open '/srv/a b/settings.json'\n", denial{path: "/srv/a b/settings.json"}, true},
		{"Error: EACCES: permission denied, mkdir '/home/u/.npm'\n", denial{path: "/home/u/.npm", kind: deniedWrite}, true},
		{"Error: EACCES: permission denied, rename '/a' -> '/b'", denial{path: "/a", kind: deniedWrite}, true},
		{"Error: EACCES: permission denied, scandir './work'", denial{path: "./work"}, true},
		{"Error: spawn git EACCES\n    at x {\n  code: 'EACCES',\n", denial{name: "git", kind: deniedProgram}, true},
		{"Error: spawnSync /bin/sh EACCES", denial{name: "/bin/sh", kind: deniedProgram}, true},
		{"Error: connect EACCES 93.184.216.34:443", denial{kind: deniedNetwork}, true},
		{"Error: listen EACCES: permission denied 127.0.0.1:3000", denial{kind: deniedNetwork}, true},
		{"PermissionError: [Errno 13] Permission denied: '/data/x.db'", denial{path: "/data/x.db"}, true},
		{"PermissionError: [Errno 13] Permission denied", denial{}, true},
		// A resolver that gets no socket asks to be tried again.
		{"Error: getaddrinfo EAI_AGAIN example.com", denial{kind: deniedNetwork}, true},
		{"npm error code EAI_AGAIN\nnpm error request to https://registry.example/x failed", denial{kind: deniedNetwork}, true},
		{"socket.gaierror: [Errno -3] Temporary failure in name resolution", denial{kind: deniedNetwork}, true},
		{"panic: open /data/x: permission denied", denial{path: "/data/x"}, true},
		{"fork/exec /usr/bin/git: permission denied", denial{path: "/usr/bin/git", name: "/usr/bin/git", kind: deniedProgram}, true},
		{"dial tcp 10.0.0.1:80: socket: permission denied", denial{kind: deniedNetwork}, true},
		{"sh: 1: git: Permission denied", denial{name: "git", kind: deniedProgram}, true},
		{"/usr/bin/sh: 1: exec: /bin/ls: Permission denied", denial{name: "/bin/ls", kind: deniedProgram}, true},
		{"bash: line 1: /opt/tool: Permission denied", denial{name: "/opt/tool", kind: deniedProgram}, true},
		{"/usr/bin/env: ‘node’: Permission denied", denial{name: "node", kind: deniedProgram}, true},
		{"sh: 1: cannot create /var/x: Permission denied", denial{path: "/var/x", kind: deniedWrite}, true},
		{"prog: error while loading shared libraries: libfoo.so.1: cannot open shared object file: Permission denied", denial{name: "libfoo.so.1", kind: deniedLibrary}, true},
		{"ImportError: libbar.so.2: cannot open shared object file: Permission denied", denial{name: "libbar.so.2", kind: deniedLibrary}, true},
		{"Error: EACCES: permission denied, open '/first'\r\nError: EACCES: permission denied, open '/last'\r\n", denial{path: "/last"}, true},
		{"thread 'main' panicked: Permission denied (os error 13)", denial{}, true},
	} {
		if got, ok := findDenial([]byte(c.stderr)); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v %v", c.stderr, got, ok)
		}
	}
}

func TestEndedByItself(t *testing.T) {
	p := &Plan{dir: "/"}
	denied := []byte("open /x: permission denied\n")
	for _, c := range []struct {
		code, signal int
		stderr       []byte
		want         Cause
	}{
		{0, 0, denied, CauseNone},
		{1, 0, nil, CauseNone},
		{1, 0, denied, CauseDenied},
		{0, 11, denied, CauseNone},
		{0, 31, nil, CauseSeccomp},
		{159, 0, nil, CauseSeccompChild},
		{139, 0, nil, CauseNone},
	} {
		got := p.Ended(c.code, c.signal, c.stderr)
		if got.Cause != c.want || (got.Hint == "") != (c.want == CauseNone) {
			t.Errorf("%d %d %q: %+v", c.code, c.signal, c.stderr, got)
		}
	}
}

// A module that was not found may only be one that could not be seen: a hint, and
// no cause.
func TestModuleThatWasNotFound(t *testing.T) {
	got := (&Plan{dir: "/"}).Ended(1, 0, []byte("Traceback\nModuleNotFoundError: No module named 'server.tools'\n"))
	if got.Cause != CauseNone || !strings.Contains(got.Hint, "if server.tools is installed, --allow-read") {
		t.Errorf("%+v", got)
	}
}

// A hint names the path and the flag that is missing, by what is granted.
func TestHints(t *testing.T) {
	dir := t.TempDir()
	p := &Plan{dir: dir, Grants: []Grant{{Path: "/dev/null", Rights: Read}, {Path: "/dev/zero", Rights: Read | Write}}}
	for line, want := range map[string]string{
		"open '/dev/full': permission denied":            "it may not read /dev/full; --allow-read /dev/full grants it",
		"open '/dev/null': permission denied":            "it may not write /dev/null; --allow-write /dev/null grants it",
		"unlink '/dev/full': permission denied":          "it may not write /dev/full; --allow-write /dev/full grants it",
		"open '/dev/zero': permission denied":            "which is granted: look at the file's own mode and owner",
		"open '" + dir + "/absent/x': permission denied": "--allow-write " + dir + "/absent grants its directory",
		"open './absent': permission denied":             "--allow-write " + dir + " grants its directory",
		"connect EACCES 1.2.3.4:5":                       "confinement denies the network",
		"permission denied":                              "--confine-explain prints what is granted",
		"spawn git EACCES":                               "it may not execute git; --allow-exec git grants it and what it needs to start",
		"x: loading shared libraries: libnone.so.9: cannot open shared object file: Permission denied": "it may not read the library libnone.so.9; --allow-read PATH grants it",
	} {
		if got := p.Ended(1, 0, []byte(line)).Hint; !strings.Contains(got, want) {
			t.Errorf("%s: %s", line, got)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tail Tail
		var all []byte
		for _, chunk := range rapid.SliceOfN(rapid.IntRange(0, tailBytes+5000), 0, 8).Draw(t, "chunks") {
			p := bytes.Repeat([]byte{byte(len(all))}, chunk)
			if n, err := tail.Write(p); n != chunk || err != nil {
				t.Fatalf("%d %v", n, err)
			}
			all = append(all, p...)
		}
		if want := all[max(0, len(all)-tailBytes):]; !slices.Equal(tail.Bytes(), want) {
			t.Fatalf("%d bytes kept of %d", len(tail.Bytes()), len(all))
		}
	})
}

func FuzzDenial(f *testing.F) {
	f.Add([]byte("Error: EACCES: permission denied, open '/x'\n"))
	f.Add([]byte("sh: 1: exec: /bin/ls: Permission denied"))
	f.Fuzz(func(t *testing.T, stderr []byte) {
		d, ok := findDenial(stderr)
		if !ok && d != (denial{}) {
			t.Errorf("%+v of nothing", d)
		}
		if !bytes.Contains(stderr, []byte(d.path)) || !bytes.Contains(stderr, []byte(d.name)) {
			t.Errorf("%+v is not in the text", d)
		}
	})
}
