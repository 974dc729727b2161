package confine

import (
	"bufio"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// libraryDirs are searched last: glibc's trusted directories, Debian's multiarch
// ones among them, and musl's.
var libraryDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
}

// loaded are libraries that glibc loads by dlopen(3) once a thread ends or is
// cancelled; no program lists them. The modules of the name service come on top.
var loaded = []string{"libgcc_s.so.1"}

// object is one ELF file as the loader looks at it.
type object struct {
	interpreter    string
	needed         []string
	rpath, runpath []string
	machine        elf.Machine
}

// readObject reads an ELF file's loader directives. It is nil for other files.
func readObject(path string) *object {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	o := &object{machine: f.Machine}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		if text, err := io.ReadAll(p.Open()); err == nil {
			o.interpreter = strings.TrimRight(string(text), "\x00")
		}
	}
	o.needed, _ = f.DynString(elf.DT_NEEDED) // a file without a dynamic section needs nothing
	origin := filepath.Dir(path)
	o.rpath = searchDirs(f, elf.DT_RPATH, origin)
	o.runpath = searchDirs(f, elf.DT_RUNPATH, origin)
	return o
}

// searchDirs are the directories of a DT_RPATH or DT_RUNPATH (ld.so(8)).
func searchDirs(f *elf.File, tag elf.DynTag, origin string) (dirs []string) {
	lib := "lib"
	if f.Class == elf.ELFCLASS64 {
		lib = "lib64"
	}
	replace := strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin, "${LIB}", lib, "$LIB", lib)
	lists, _ := f.DynString(tag)
	for _, list := range lists {
		for dir := range strings.SplitSeq(list, ":") {
			if dir != "" {
				dirs = append(dirs, replace.Replace(dir))
			}
		}
	}
	return dirs
}

// libraries grants the loader of an executable and all libraries it will map.
func (c *closure) libraries(path string) {
	o := readObject(path)
	if o == nil {
		return
	}
	if o.interpreter == "" && len(o.needed) == 0 {
		return // static
	}
	if o.interpreter != "" {
		// execve(2) opens the loader as it opens a program.
		err := executable(o.interpreter)
		if err == nil {
			err = c.grants.add(o.interpreter, Read|Execute, "loader of "+path)
		}
		if err != nil {
			c.note("%s: its loader %s: %v", path, o.interpreter, cause(err))
		}
	}
	c.needs(path, o, nil)
	for _, name := range append(slices.Clone(loaded), nameServices()...) {
		for _, lib := range c.libraryCache().find(name, o.machine) {
			c.library(lib, "loaded by glibc at run time", nil)
		}
	}
}

// needs grants the libraries an object lists, and theirs. inherited is the
// DT_RPATH of the objects that led here.
func (c *closure) needs(path string, o *object, inherited []string) {
	rpath := append(slices.Clone(o.rpath), inherited...)
	if len(o.runpath) > 0 {
		rpath = nil // DT_RUNPATH turns DT_RPATH off
	}
	for _, name := range o.needed {
		found := c.find(name, o, rpath)
		if len(found) == 0 {
			c.note("%s needs %s, which was not found", path, name)
		}
		for _, lib := range found {
			c.library(lib, "library of "+path, rpath)
		}
	}
}

// loads grants the libraries of objects that a runtime may load, and in most runs
// does not. What one of them lacks is no note: it cannot be loaded outside either.
func (c *closure) loads(objects []string) {
	notes := c.notes
	for _, path := range objects {
		if o := readObject(path); o != nil {
			c.needs(path, o, nil)
		}
	}
	c.notes = notes
}

// library grants one library and what it needs.
func (c *closure) library(path, why string, rpath []string) {
	real, err := realPath(path)
	if err != nil || c.seen[real] {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[real] = true
	o := readObject(real)
	if o == nil {
		c.note("%s (%s) is no ELF file: it is not granted", path, why)
		return
	}
	if err := c.grants.add(real, Read, why); err != nil {
		c.note("%s: %v", path, cause(err))
		return
	}
	c.needs(real, o, rpath)
}

// find looks for a library in the order of ld.so(8). Where the loader chooses
// among variants by the processor, all of them are returned.
func (c *closure) find(name string, o *object, rpath []string) []string {
	if strings.Contains(name, "/") {
		return []string{c.grants.abs(name)}
	}
	for _, dirs := range [][]string{rpath, filepath.SplitList(c.env.get("LD_LIBRARY_PATH")), o.runpath} {
		if found := c.inDirs(name, dirs); len(found) > 0 {
			return found
		}
	}
	if found := c.libraryCache().find(name, o.machine); len(found) > 0 {
		return found
	}
	return c.inDirs(name, libraryDirs)
}

func (c *closure) inDirs(name string, dirs []string) (found []string) {
	for _, dir := range dirs {
		path := filepath.Join(c.grants.abs(dir), name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		variants, _ := filepath.Glob(filepath.Join(c.grants.abs(dir), "glibc-hwcaps", "*", name))
		return append(variants, path)
	}
	return nil
}

func (c *closure) libraryCache() *ldCache {
	if c.cache == nil {
		c.cache = readLDCache(ldCachePath)
	}
	return c.cache
}

// nameServices are the modules that nsswitch.conf(5) names; without the file,
// glibc's default.
func nameServices() []string {
	services := []string{"files", "dns"}
	f, err := os.Open("/etc/nsswitch.conf")
	if err == nil {
		defer f.Close()
		lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
		for lines.Scan() {
			line, _, _ := strings.Cut(lines.Text(), "#")
			_, list, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			for _, word := range strings.Fields(list) {
				if !strings.HasPrefix(word, "[") && !slices.Contains(services, word) {
					services = append(services, word)
				}
			}
		}
	}
	for i, service := range services {
		services[i] = "libnss_" + service + ".so.2"
	}
	return services
}
