package confine

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// java grants what a JVM reads: its home, what its configuration links to, the
// libraries that it loads, and the jar or the class path of the program.
func (c *closure) java(real string, argv []string) {
	home := filepath.Dir(filepath.Dir(real))
	if !isDir(filepath.Join(home, "lib")) || c.tooWide(home) {
		return
	}
	c.read(home, "Java's home")
	// Distributions keep settings and certificates in /etc, with links to them.
	for _, dir := range []string{"conf", "lib"} {
		filepath.WalkDir(filepath.Join(home, dir), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type()&fs.ModeSymlink != 0 {
				_ = c.grants.add(path, Read, "link in Java's home") // one that leads nowhere is not missed
			}
			return nil
		})
	}
	for _, pattern := range []string{"lib/*.so", "lib/server/*.so"} {
		libraries, _ := filepath.Glob(filepath.Join(home, pattern))
		c.loads(libraries)
	}
	for i := 1; i+1 < len(argv); i++ {
		switch argv[i] {
		case "-jar":
			c.read(argv[i+1], "Java's jar")
			return
		case "-cp", "-classpath", "--class-path":
			for _, path := range filepath.SplitList(argv[i+1]) {
				c.classPath(strings.TrimSuffix(path, "*"))
			}
			i++
		default:
			if !strings.HasPrefix(argv[i], "-") {
				return // the class to run: its own arguments follow
			}
		}
	}
}

// classPath grants one place that classes are looked for in.
func (c *closure) classPath(path string) {
	if real, err := realPath(c.grants.abs(path)); err == nil && c.tooWide(real) {
		c.note("Java's class path holds all of %s, which is not granted; add what it loads with --allow-read", real)
		return
	}
	c.read(path, "Java's class path")
}
