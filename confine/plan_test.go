//go:build linux

package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/go-json-experiment/json"
)

// realDir is a directory without links on the way to it.
func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// bare is a request whose program needs no closure.
func bare(dir string) Request {
	return Request{Argv: []string{"/bin/sh"}, Dir: dir, Exec: []string{ExecNone}, Environ: []string{"PATH=/usr/bin:/bin"}}
}

// granted are the grants of a plan as `path rights`.
func granted(p *Plan) (list []string) {
	for _, g := range p.Grants {
		list = append(list, g.Path+" "+g.Rights.String())
	}
	return list
}

// Every kind of file can be granted; a link means its target, and what is not
// there is an error that names it.
func TestGrantedPaths(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/file", "", 0o600)
	write(t, dir+"/\xff", "", 0o600)
	write(t, dir+"/with space/file", "", 0o600)
	write(t, dir+"/elsewhere/target", "", 0o600)
	link(t, "elsewhere/target", dir+"/link")
	link(t, dir+"/elsewhere", dir+"/linked")
	link(t, "absent", dir+"/dangling")
	link(t, "loop", dir+"/loop")
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		read, write []string
		want        string // joined by commas, $ is dir
		err         string
	}{
		{nil, nil, "", ""},
		{[]string{"/dev/null"}, nil, "/dev/null read+execute", ""},
		{[]string{dir + "/file"}, nil, "$/file read+execute", ""},
		{[]string{dir + "/fifo"}, nil, "$/fifo read+execute", ""},
		{[]string{dir + "/with space"}, nil, "$/with space read+execute", ""},
		{[]string{"file"}, nil, "$/file read+execute", ""},
		{[]string{"elsewhere/.././file"}, nil, "$/file read+execute", ""},
		{[]string{"."}, nil, "$ read+execute", ""},
		{[]string{"elsewhere/.."}, nil, "$ read+execute", ""},
		{[]string{"link"}, nil, "$/elsewhere/target read+execute", ""},
		{[]string{"linked"}, nil, "$/elsewhere read+execute", ""},
		{[]string{"linked/target"}, nil, "$/elsewhere/target read+execute", ""},
		{nil, []string{"file"}, "$/file read+execute+write+ioctl", ""},
		{[]string{"file"}, []string{"file"}, "$/file read+execute+write+ioctl", ""},
		{[]string{"file", "./file", "file"}, nil, "$/file read+execute", ""},
		{[]string{"elsewhere", "elsewhere/target"}, nil, "$/elsewhere read+execute", ""},
		{[]string{"elsewhere"}, []string{"elsewhere/target"}, "$/elsewhere read+execute,$/elsewhere/target read+execute+write+ioctl", ""},
		{[]string{"elsewhere/target"}, []string{"elsewhere"}, "$/elsewhere read+execute+write+ioctl", ""},

		{[]string{"absent"}, nil, "", "--allow-read absent: no such file or directory; grant only what is there"},
		{nil, []string{dir + "/absent"}, "", "--allow-write " + dir + "/absent: no such file or directory; grant only what is there"},
		{[]string{"dangling"}, nil, "", "--allow-read dangling: no such file or directory; grant only what is there"},
		{[]string{"loop"}, nil, "", "--allow-read loop: EvalSymlinks: too many links; grant only what is there"},
		{[]string{"\xff"}, nil, "", "--allow-read \xff: its name is not UTF-8; grant only what is there"},
		{[]string{"file/below"}, nil, "", "--allow-read file/below: not a directory; grant only what is there"},
	} {
		r := bare(dir)
		r.Read, r.Write = c.read, c.write
		p, err := New(r)
		if err != nil {
			if _, ok := errors.AsType[*MissingError](err); !ok || err.Error() != c.err {
				t.Errorf("%v %v: %v", c.read, c.write, err)
			}
			continue
		}
		if got := strings.ReplaceAll(strings.Join(granted(p), ","), dir, "$"); got != c.want || c.err != "" {
			t.Errorf("%v %v: %s", c.read, c.write, got)
		}
	}
}

func TestRequestIsRefused(t *testing.T) {
	dir := realDir(t)
	change := func(f func(*Request)) Request { r := bare(dir); f(&r); return r }
	for _, c := range []struct {
		r     Request
		err   string
		usage bool
	}{
		{change(func(r *Request) { r.Argv = nil }), "confinement needs a command", true},
		{change(func(r *Request) { r.Argv = []string{""} }), "confinement needs a command", true},
		{change(func(r *Request) { r.Read = []string{""} }), "--allow-read needs a PATH", true},
		{change(func(r *Request) { r.Write = []string{"a\x00b"} }), "--allow-write: a path cannot hold a NUL", true},
		{change(func(r *Request) { r.Exec = []string{ExecNone, ExecAuto} }), "--allow-exec none stands alone", true},
		{change(func(r *Request) { r.Exec = []string{ExecNone, "/bin/sh"} }), "--allow-exec none stands alone", true},
		{change(func(r *Request) { r.Env = []string{"\xff=x"} }), "--env needs NAME or NAME=VALUE", true},
		{change(func(r *Request) { r.Env = []string{"=x"} }), "--env needs NAME or NAME=VALUE", true},
		{change(func(r *Request) { r.Env = []string{"ABSENT"} }), "--env ABSENT: it is not set", true},
		{change(func(r *Request) { r.Env = []string{profileName + "=x"} }), "not for the server", true},
		{change(func(r *Request) { r.Net = []string{"example.com:443"} }), "--allow-net is not available yet", false},
		{change(func(r *Request) { r.Argv = []string{"no-such-program"} }), "could not find the server's program `no-such-program`: executable file not found in $PATH", false},
		{change(func(r *Request) { r.Argv = []string{"./absent"} }), "could not find the server's program `./absent`: no such file or directory", false},
		{change(func(r *Request) { r.Argv = []string{dir} }), "is a directory", false},
		{change(func(r *Request) { r.Argv = []string{"/dev/null"} }), "is no regular file", false},
		{change(func(r *Request) { r.Argv = []string{"/etc/passwd"} }), "permission denied", false},
		{change(func(r *Request) { r.Exec = []string{"/no/such"} }), "--allow-exec /no/such: no such file or directory", false},
	} {
		_, err := New(c.r)
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v", c.err, err)
			continue
		}
		if _, usage := errors.AsType[*UsageError](err); usage != c.usage {
			t.Errorf("%q: a usage error: %v", c.err, usage)
		}
	}
}

// The environment of a confined server is a short list and what is asked for.
func TestEnvironment(t *testing.T) {
	from := []string{"HOME=/h", "PATH=/bin", "LC_TIME=C", "LANG=C", "TOKEN=secret", "LD_PRELOAD=x", "NODE_OPTIONS=y", "TMPDIR=/t", "odd"}
	for _, c := range []struct {
		add  []string
		want string
	}{
		{nil, "HOME=/h LANG=C LC_TIME=C PATH=/bin"},
		{[]string{"TOKEN"}, "HOME=/h LANG=C LC_TIME=C PATH=/bin TOKEN=secret"},
		{[]string{"A=1", "A=2"}, "HOME=/h LANG=C LC_TIME=C PATH=/bin A=2"},
		{[]string{"HOME="}, "LANG=C LC_TIME=C PATH=/bin HOME="},
		{[]string{"A==b=c"}, "HOME=/h LANG=C LC_TIME=C PATH=/bin A==b=c"},
	} {
		e, err := environment(from, c.add)
		if err != nil || strings.Join(e.list, " ") != c.want {
			t.Errorf("%v: %v %v", c.add, e.list, err)
		}
	}
}

// What is printed and recorded names variables, and holds no value and no
// argument of the server.
func TestPlanKeepsSecrets(t *testing.T) {
	r := bare(realDir(t))
	r.Argv = append(r.Argv, "--token", "argument-secret")
	r.Env = []string{"API_KEY=value-secret"}
	r.Tmp = true
	p, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := p.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	report := newReport(p, &facts{})
	for _, out := range []string{text.String(), string(p.JSON()), string(report.JSON())} {
		if strings.Contains(out, "secret") {
			t.Errorf("a secret in\n%s", out)
		}
		if !strings.Contains(out, "API_KEY") {
			t.Errorf("the name of the variable is not in\n%s", out)
		}
	}
	if !slices.Equal(p.Environment, []string{"API_KEY", "PATH", "TEMP", "TMP", "TMPDIR"}) {
		t.Errorf("environment %v", p.Environment)
	}
}

// A plan reads as text and as JSON, and its digest is of what it grants.
func TestPlanIsPrinted(t *testing.T) {
	dir := realDir(t)
	write(t, dir+"/a\x1b[31m/file", "", 0o600)
	r := bare(dir)
	r.Read, r.Write, r.Kill, r.BestEffort = []string{"a\x1b[31m/file"}, []string{dir}, true, true
	r.Read = append(r.Read, "/dev/null")
	p, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `program      /bin/sh
network      denied (a socket answers SIGSYS)
environment  PATH
best effort  THE SERVER IS STARTED EVEN IF THIS CANNOT BE ENFORCED
files        rights: r read, x execute, w write, i ioctl; a slash at the end: all in it
  rx--  /dev/null  (--allow-read)
  rxwi  $/  (--allow-write)
digest       #
`
	got := strings.NewReplacer(dir, "$", p.Digest(), "#").Replace(b.String())
	if got != want {
		t.Errorf("the plan reads\n%s", got)
	}
	var again Plan
	if err := json.Unmarshal(p.JSON(), &again); err != nil || again.Digest() != p.Digest() {
		t.Errorf("%v: %s", err, p.JSON())
	}
	same, err := New(r)
	if err != nil || same.Digest() != p.Digest() {
		t.Error("the same request has another digest")
	}
	r.Read = nil
	if other, err := New(r); err != nil || other.Digest() == p.Digest() {
		t.Error("another plan has the same digest")
	}
}
