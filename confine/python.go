package confine

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// isPython tells whether a name is a CPython executable's: python, with a version
// of 3 or without.
func isPython(name string) bool {
	version, ok := strings.CutPrefix(name, "python")
	minor := strings.TrimPrefix(strings.TrimPrefix(version, "3"), ".")
	return ok && (version == "" || version == "3" || strings.HasPrefix(version, "3.") && minor != "" && strings.Trim(minor, "0123456789") == "")
}

// python grants what CPython reads: the standard library below its prefix, the
// places its site module adds, a virtual environment, and the directory of the
// script. path is the executable as it was called, real without links: Python
// looks for pyvenv.cfg beside the first.
func (c *closure) python(path, real string, argv []string) {
	prefixes := []string{filepath.Dir(filepath.Dir(real))}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		config := filepath.Join(dir, "pyvenv.cfg")
		if _, err := os.Stat(config); err != nil {
			continue
		}
		if c.tooWide(dir) {
			c.note("the virtual environment of %s would be all of %s, which is not granted", path, dir)
			continue
		}
		c.read(dir, "virtual environment of "+path)
		if home := pyvenvHome(config); home != "" {
			prefixes = append(prefixes, filepath.Dir(home))
		}
	}
	version := strings.TrimPrefix(filepath.Base(real), "python")
	if !strings.Contains(version, ".") {
		version = "3.*"
	}
	for _, prefix := range prefixes {
		libs, _ := filepath.Glob(filepath.Join(prefix, "lib*", "python"+version))
		for _, lib := range libs {
			c.read(lib, "standard library of "+path)
			// Its extension modules map libraries that the executable does not list.
			modules, _ := filepath.Glob(filepath.Join(lib, "lib-dynload", "*.so"))
			c.loads(modules)
		}
		if archives, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*.zip")); len(archives) > 0 {
			c.read(archives[0], "standard library of "+path)
		}
	}
	var sites []string
	for _, prefix := range prefixes {
		sites = append(sites, filepath.Join(prefix, "lib", "python3")) // Debian's
		if prefix == "/usr" {
			sites = append(sites, "/usr/local/lib/python"+version)
		}
	}
	if home := c.env.get("HOME"); home != "" {
		sites = append(sites, filepath.Join(home, ".local", "lib", "python"+version))
	}
	for _, pattern := range sites {
		found, _ := filepath.Glob(pattern)
		for _, site := range found {
			c.read(site, "site packages of "+path)
		}
	}
	c.pythonScript(argv)
}

// pythonScript grants the directory of the script: the first that Python puts on
// its path.
func (c *closure) pythonScript(argv []string) {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		switch {
		case word == "-c" || word == "-m" || word == "-":
			return
		case word == "-W" || word == "-X" || word == "--check-hash-based-pycs":
			i++
		case !strings.HasPrefix(word, "-"):
			real, err := realPath(c.grants.abs(word))
			if err != nil {
				c.note("Python's script %s was not found", word)
				return
			}
			root := real
			if !isDir(real) {
				root = filepath.Dir(real)
			}
			if c.tooWide(root) {
				c.note("the directory of %s is all of %s: only the script is granted; add what it imports with --allow-read", word, root)
				root = real
			}
			c.read(root, "directory of Python's script "+word)
			return
		}
	}
}

// read grants what is there.
func (c *closure) read(path, why string) {
	if err := c.grants.add(path, Read, why); err != nil {
		c.note("%s: %v", path, cause(err))
	}
}

// pyvenvHome is the `home` of a pyvenv.cfg: the directory of the executable that
// the virtual environment was made with.
func pyvenvHome(config string) string {
	f, err := os.Open(config)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "home" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
