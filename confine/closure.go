package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// closure finds what a program needs to start: itself, its interpreters, the
// libraries its loader maps, and what node and Python read before the first line
// of the server's own. What it cannot find it notes; a grant too few is a
// refusal by the kernel with a hint, never a grant too many.
type closure struct {
	grants *grants
	env    environ
	dir    string
	cache  *ldCache // read when first needed
	seen   map[string]bool
	notes  []string
}

func (c *closure) note(format string, a ...any) {
	c.notes = append(c.notes, strings.ToValidUTF8(fmt.Sprintf(format, a...), "\ufffd"))
}

// lookUp finds a program as [exec.LookPath] does, but in the PATH the server
// will have. A name with a separator is not looked for elsewhere, and relative
// entries of PATH are passed over.
func (c *closure) lookUp(name string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, executable(c.grants.abs(name))
	}
	var denied error
	for _, dir := range filepath.SplitList(c.env.get("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if os.IsPermission(err) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", exec.ErrNotFound
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory")
	case !info.Mode().IsRegular():
		return errors.New("is no regular file")
	case info.Mode()&0o111 == 0:
		return os.ErrPermission
	}
	return nil
}

// maxInterpreters is how many `#!` lines Linux follows (search_binary_handler).
const maxInterpreters = 4

// program grants what argv needs to start, where argv[0] was found at path.
func (c *closure) program(path string, argv []string, why string) {
	for depth := 0; ; depth++ {
		abs := c.grants.abs(path)
		// What a `#!` line names and nobody can execute, somebody may want to read.
		err := executable(abs)
		if err == nil {
			err = c.grants.add(abs, Read|Execute, why)
		}
		if err != nil {
			c.note("%s: %v: %s is not granted", why, cause(err), path)
			return
		}
		line, err := interpreterLine(abs)
		if err != nil {
			c.note("%s cannot be read, so what it needs is not known: %v", path, cause(err))
			return
		}
		if line == "" {
			c.native(abs, argv)
			return
		}
		if depth == maxInterpreters {
			c.note("%s: more than %d interpreters call each other; Linux follows no more", argv[0], maxInterpreters)
			return
		}
		interpreter, argument := splitInterpreter(line)
		next := []string{interpreter}
		if argument != "" {
			next = append(next, argument)
		}
		argv = append(append(next, path), argv[1:]...)
		path, why = interpreter, "interpreter of "+abs
		if filepath.Base(interpreter) != "env" {
			continue
		}
		// env(1) is a program of its own, and executes the next one.
		c.program(path, argv[:1], why)
		name, rest := envCommand(argument, argv[len(next):])
		if name == "" {
			c.note("%s: no program in its `#!%s`", abs, line)
			return
		}
		found, err := c.lookUp(name)
		if err != nil {
			c.note("%s: its interpreter %s was not found: %v", abs, name, cause(err))
			return
		}
		path, argv = found, append([]string{name}, rest...)
	}
}

// native grants what an executable without `#!` needs: its libraries, and what
// the runtimes that are known by name read.
func (c *closure) native(path string, argv []string) {
	real, err := realPath(path)
	if err != nil {
		return
	}
	c.libraries(real)
	switch runtime := filepath.Base(real); {
	case runtime == "node" || runtime == "nodejs":
		c.node(argv)
	case isPython(runtime):
		c.python(path, real, argv)
	case runtime == "java":
		c.java(real, argv)
	}
}
