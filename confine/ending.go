package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// Cause says what confinement had to do with the end of a server.
type Cause string

// The causes, as a record spells them. CauseNone is an ordinary end, a crash
// included.
const (
	CauseNone         Cause = ""
	CauseSeccomp      Cause = "killed by seccomp"
	CauseSeccompChild Cause = "killed by seccomp in a child process"
	CauseDenied       Cause = "denied"
)

// sigsys is SIGSYS by number, on amd64 and arm64 Linux. A shell answers with 128
// more when its child died of it.
const sigsys = 31

// Ending is the end of a server, as far as confinement explains it.
type Ending struct {
	Cause Cause
	// Hint is for people: what was denied and which flag grants it. It may hold
	// text that the server wrote; show it as untrusted text. "" if there is none.
	Hint string
}

// Ended judges the end of a server by how it exited and by the last it wrote to
// its stderr. signal is the number of the signal that ended it, 0 if none did.
// What a server says of itself is a hint and no evidence. CauseSeccomp rests on the
// signal, which a server can also send itself, CauseSeccompChild on an exit code.
func (p *Plan) Ended(code, signal int, stderr []byte) Ending {
	switch {
	case signal == sigsys:
		hint := "it used a system call that confinement kills: one of another system call table (i386, x32)"
		if p.OnSocket == "SIGSYS" {
			hint += ", or a network socket; without --confine-kill a socket fails with EACCES instead"
		}
		return Ending{CauseSeccomp, hint}
	case signal != 0 || code == 0:
		return Ending{}
	case code == 128+sigsys:
		return Ending{CauseSeccompChild, "a process that it started was killed by SIGSYS (exit code 159)"}
	}
	d, ok := findDenial(stderr)
	if !ok {
		return Ending{Hint: p.missingHint(stderr)}
	}
	return Ending{CauseDenied, p.hint(d)}
}

// missingHint is for runtimes that take what they may not read for what is not
// there. A denial is not proved by it.
func (p *Plan) missingHint(stderr []byte) string {
	if m := words().module.FindSubmatch(stderr); m != nil {
		return fmt.Sprintf("Python takes a directory that it may not read for an empty one: if %s is installed, --allow-read its directory", m[1])
	}
	m := words().nodeModule.FindSubmatch(stderr)
	if m == nil {
		return ""
	}
	if path := string(m[1]); filepath.IsAbs(path) {
		if target := p.linkedPackage(path); target != "" {
			return fmt.Sprintf("it may not read the linked package %s; --allow-read %s grants it", target, target)
		}
		return ""
	} else if strings.HasPrefix(path, ".") {
		return ""
	}
	return fmt.Sprintf("node takes a package that it may not read for none: if %s is a link (npm link, a workspace), --allow-read what it leads to", m[1])
}

// linkedPackage is where the package in a node_modules leads that path lies in, ""
// if it is no link, or may be read.
func (p *Plan) linkedPackage(path string) string {
	const modules = "/node_modules/"
	i := strings.LastIndex(path, modules)
	if i < 0 {
		return ""
	}
	parts := strings.Split(path[i+len(modules):], "/")
	length := 1
	if strings.HasPrefix(parts[0], "@") {
		length = min(2, len(parts)) // a scope is a directory of packages
	}
	name := path[:i+len(modules)] + strings.Join(parts[:length], "/")
	real, err := realPath(name)
	if err != nil {
		return ""
	}
	if _, ok := p.covers(real, Read); ok || real == name {
		return ""
	}
	return real
}

// denial is a line of stderr that tells of a denied access.
type denial struct {
	path string // "" if the line names none
	name string // what was denied where it is no path: a library, a program
	kind denialKind
}

type denialKind uint8

const (
	deniedFile denialKind = iota
	deniedWrite
	deniedProgram
	deniedLibrary
	deniedNetwork
)

// denialWords are how programs tell of a denied access. They are compiled when
// first needed: every start of the program, the helper's too, would pay for them.
type denialWords struct {
	denied, network, program, write, library, spawned, shell, quotedPath, barePath, module, nodeModule *regexp.Regexp
}

var words = sync.OnceValue(func() *denialWords {
	return &denialWords{
		denied:  regexp.MustCompile(`(?i)\beacces\b|permission denied|permissionerror|\beai_again\b|temporary failure in name resolution`),
		network: regexp.MustCompile(`(?i)\b(connect|listen|bind|socket|dial|getaddrinfo|eai_again|name resolution)\b`),
		program: regexp.MustCompile(`\b(spawn|spawnSync|fork/exec|exec|execve|execvp)\b`),
		write:   regexp.MustCompile(`\b(mkdir|mkdtemp|unlink|rmdir|rename|link|symlink|copyfile|ftruncate|truncate|create|remove)\b`),
		library: regexp.MustCompile(`(?:loading shared libraries: |ImportError: |OSError: )([^\s:/]+\.so[^\s:]*): cannot open shared object file`),
		spawned: regexp.MustCompile(`\bspawn(?:Sync)? (\S+) EACCES`),
		// A shell's own: `sh: 1: git: Permission denied`, `env: ‘node’: Permission denied`.
		shell:      regexp.MustCompile(`^\S*(?:sh|env): (?:(?:line )?[0-9]+: )?(?:exec: )?['"‘]?([^\s:'"’]+)['"’]?: Permission denied`),
		quotedPath: regexp.MustCompile(`['"‘]((?:/|\.{1,2}/)[^'"’]+)['"’]`),
		module:     regexp.MustCompile(`ModuleNotFoundError: No module named '([^'\n]+)'`),
		nodeModule: regexp.MustCompile(`Error(?: \[\w+\])?: Cannot find (?:package|module) '([^'\n]+)'`),
		barePath:   regexp.MustCompile(`(?:^|[\s(:])(/[^\s:,;'")]+)`),
	}
})

// findDenial is the last line that tells of a denied access and what it was for:
// what came before it was survived. If no line tells for what, it is one of those.
func findDenial(stderr []byte) (found denial, ok bool) {
	lines := strings.Split(string(stderr), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimRight(lines[i], "\r")
		if !words().denied.MatchString(line) {
			continue
		}
		if d := readDenial(line); d.path != "" || d.name != "" || d.kind == deniedNetwork {
			return d, true
		}
		ok = true
	}
	return denial{}, ok
}

func readDenial(line string) denial {
	var d denial
	if m := words().library.FindStringSubmatch(line); m != nil {
		d.kind, d.name = deniedLibrary, m[1]
		return d
	}
	if m := words().spawned.FindStringSubmatch(line); m != nil {
		d.kind, d.name = deniedProgram, m[1]
		return d
	}
	if m := words().shell.FindStringSubmatch(line); m != nil {
		d.kind, d.name = deniedProgram, m[1]
		return d
	}
	if m := words().quotedPath.FindStringSubmatch(line); m != nil {
		d.path = m[1]
	} else if all := words().barePath.FindAllStringSubmatch(line, -1); all != nil {
		d.path = all[len(all)-1][1] // the first may be the program that speaks
	}
	switch {
	case d.path == "" && words().network.MatchString(line):
		d.kind = deniedNetwork
	case words().program.MatchString(line):
		d.kind, d.name = deniedProgram, d.path
	case words().write.MatchString(line):
		d.kind = deniedWrite
	}
	return d
}

// hint names what was denied and the flag that grants it.
func (p *Plan) hint(d denial) string {
	switch d.kind {
	case deniedNetwork:
		return "confinement denies the network"
	case deniedLibrary:
		if found := p.findLibrary(d.name); found != "" {
			return fmt.Sprintf("it may not read the library %s; --allow-read %s grants it", found, found)
		}
		return fmt.Sprintf("it may not read the library %s; --allow-read PATH grants it", d.name)
	case deniedProgram:
		return fmt.Sprintf("it may not execute %s; --allow-exec %s grants it and what it needs to start", d.name, d.name)
	}
	if d.path == "" {
		return "it was denied something that it does not name; --confine-explain prints what is granted"
	}
	path := absolute(p.dir, d.path)
	real, err := realPath(path)
	if err != nil {
		return fmt.Sprintf("it may not make %s; --allow-write %s grants its directory", path, filepath.Dir(path))
	}
	_, readable := p.covers(real, Read)
	_, runs := p.covers(real, Execute)
	_, writable := p.covers(real, Write)
	switch info, err := os.Stat(real); {
	case writable:
		return fmt.Sprintf("it was denied %s, which is granted: look at the file's own mode and owner; a confined server has no capabilities, even as root", path)
	case readable && !runs && d.kind == deniedFile && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0:
		return fmt.Sprintf("it may read %s only; --allow-exec %s lets it execute it, --allow-write %s lets it write", path, path, path)
	case readable || d.kind == deniedWrite:
		return fmt.Sprintf("it may not write %s; --allow-write %s grants it", path, path)
	default:
		return fmt.Sprintf("it may not read %s; --allow-read %s grants it", path, path)
	}
}

// findLibrary looks for a library by its name, "" if it is not where loaders look.
func (p *Plan) findLibrary(name string) string {
	cache := readLDCache(ldCachePath)
	for _, names := range cache.paths {
		if found := names[name]; len(found) > 0 {
			return found[0]
		}
	}
	c := &closure{grants: newGrants(p.dir), dir: p.dir}
	if found := c.inDirs(name, libraryDirs); len(found) > 0 {
		return found[0]
	}
	return ""
}

// execHint says what a failed execve(2) lacked.
func (p *Plan) execHint(err error) string {
	if !errors.Is(err, syscall.EACCES) {
		return ""
	}
	needed := absolute(p.dir, p.Program)
	for range maxInterpreters + 1 {
		real, err := realPath(needed)
		if err != nil {
			return ""
		}
		if _, ok := p.covers(real, Execute); !ok {
			if p.Exec == ExecNone {
				return fmt.Sprintf("it may not execute %s; without --allow-exec none what it needs is granted, --allow-read %s grants this alone", needed, needed)
			}
			return fmt.Sprintf("it may not execute %s; --allow-exec %s grants it and what it needs to start", needed, needed)
		}
		line, err := interpreterLine(real)
		if err != nil {
			return ""
		}
		if line != "" {
			needed, _ = splitInterpreter(line)
			continue
		}
		o := readObject(real)
		if o == nil || o.interpreter == "" {
			return ""
		}
		needed = o.interpreter
	}
	return ""
}

// Tail keeps the last bytes of what is written to it, for [Plan.Ended]. The zero
// value is ready. It is not safe for concurrent use.
type Tail struct{ kept []byte }

// tailBytes is how much a Tail keeps: more than a stack trace of node.
const tailBytes = 16 << 10

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, len(p)-tailBytes):]
	if over := len(t.kept) + len(p) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// Bytes is what is kept. It is valid until the next Write.
func (t *Tail) Bytes() []byte { return t.kept }
