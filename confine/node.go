package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// nodeValueFlags are options of node that take the next argument.
var nodeValueFlags = []string{
	"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file", "--input-type", "--title",
}

// nodeModuleFlags are those of them whose value is code to load.
var nodeModuleFlags = []string{"-r", "--require", "--import", "--loader", "--experimental-loader"}

// node grants what node reads for `node [options] script`: the script's package,
// and every node_modules that a bare import in it would search.
func (c *closure) node(argv []string) {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		name, value, joined := strings.Cut(word, "=")
		switch {
		case word == "-e" || word == "--eval" || word == "-p" || word == "--print" || word == "-pe":
			return // the program is in the arguments
		case slices.Contains(nodeValueFlags, name):
			if !joined {
				i++
				if i < len(argv) {
					value = argv[i]
				}
			}
			if slices.Contains(nodeModuleFlags, name) && strings.ContainsRune(value, filepath.Separator) {
				c.nodePackage(value)
			}
		case !strings.HasPrefix(word, "-"):
			c.nodePackage(word)
			return
		}
	}
}

// nodePackage grants the package that a script belongs to.
func (c *closure) nodePackage(script string) {
	var real string
	for _, suffix := range []string{"", ".js", ".cjs", ".mjs"} {
		found, err := realPath(c.grants.abs(script + suffix))
		if err == nil {
			real = found
			break
		}
	}
	if real == "" {
		c.note("node's script %s was not found", script)
		return
	}
	dir := filepath.Dir(real)
	if info, err := os.Stat(real); err == nil && info.IsDir() {
		dir = real
	}
	root := nodeRoot(dir)
	why := "package of node's script " + script
	if c.tooWide(root) {
		c.note("the package of %s would be all of %s: only the script is granted; add what it loads with --allow-read", script, root)
		root = real
	}
	if err := c.grants.add(root, Read, why); err != nil {
		c.note("%s: %v", root, cause(err))
	}
	for parent := dir; ; parent = filepath.Dir(parent) {
		if modules := filepath.Join(parent, "node_modules"); isDir(modules) && !within(dir, modules) {
			c.nodeModules(modules, why)
		}
		if parent == filepath.Dir(parent) {
			return
		}
	}
}

// nodeModules grants one directory of packages, which may be a link.
func (c *closure) nodeModules(dir, why string) {
	if real, err := realPath(dir); err == nil && c.tooWide(real) {
		c.note("%s leads to all of %s, which is not granted; add what the script loads with --allow-read", dir, real)
		return
	}
	c.read(dir, why)
}

// nodeRoot is what a script in dir is a part of: the outermost node_modules
// around it, else the nearest directory with a package.json, else dir.
func nodeRoot(dir string) string {
	if i := strings.Index(dir+"/", "/node_modules/"); i >= 0 {
		return dir[:i] + "/node_modules"
	}
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "package.json")); err == nil {
			return d
		}
	}
	return dir
}

// systemTrees are top-level directories that are no project of anybody's.
var systemTrees = []string{
	"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/proc", "/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var",
}

// tooWide tells whether a directory that was guessed holds more than one
// project: a root, a directory of the system, the home directory or what is above
// it, the shared temporary directory.
func (c *closure) tooWide(dir string) bool {
	if dir == filepath.Dir(dir) || slices.Contains(systemTrees, dir) {
		return true
	}
	for _, shared := range []string{c.env.get("HOME"), os.TempDir()} {
		if real, err := realPath(shared); err == nil && (real == dir || within(real, dir)) {
			return true
		}
	}
	return false
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
