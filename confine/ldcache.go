package confine

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"strings"
)

// ldCachePath is the loader's index of libraries (ldconfig(8)).
const ldCachePath = "/etc/ld.so.cache"

// maxLDCache bounds what is read of it: a large distribution has some 300 KiB.
const maxLDCache = 16 << 20

// ldCache maps a library's name to where it lies, by machine.
type ldCache struct {
	paths map[elf.Machine]map[string][]string
}

func (c *ldCache) find(name string, machine elf.Machine) []string { return c.paths[machine][name] }

// readLDCache reads a cache. One that is not there or not understood is empty:
// the loader's directories are searched then.
func readLDCache(path string) *ldCache {
	f, err := os.Open(path)
	if err != nil {
		return &ldCache{}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxLDCache))
	if err != nil {
		return &ldCache{}
	}
	return parseLDCache(text)
}

// The layout (glibc, sysdeps/generic/dl-cache.h, struct cache_file_new), in the
// machine's own byte order, little-endian wherever this runs:
//
//	magic[17] version[3] nlibs u32 len_strings u32 flags u8 pad[3]
//	extension_offset u32 unused[3]u32
//	nlibs times: flags i32, key u32, value u32, osversion u32, hwcap u64
//
// key and value are offsets of NUL-ended strings, from the magic on.
const (
	ldMagic       = "glibc-ld.so.cache1.1"
	ldHeaderBytes = 48
	ldEntryBytes  = 24
)

// ldMachines are the flags of a 64-bit glibc library: FLAG_ELF_LIBC6 with the
// machine in the second byte.
var ldMachines = map[uint32]elf.Machine{0x0303: elf.EM_X86_64, 0x0a03: elf.EM_AARCH64}

func parseLDCache(text []byte) *ldCache {
	c := &ldCache{paths: map[elf.Machine]map[string][]string{}}
	start := bytes.Index(text, []byte(ldMagic)) // an older cache may stand before it
	if start < 0 || len(text)-start < ldHeaderBytes {
		return c
	}
	text = text[start:]
	all := string(text) // one copy, which all names and paths are parts of
	count := uint64(binary.LittleEndian.Uint32(text[len(ldMagic):]))
	count = min(count, uint64(len(text)-ldHeaderBytes)/ldEntryBytes)
	for i := range count {
		entry := text[ldHeaderBytes+i*ldEntryBytes:]
		machine, ok := ldMachines[binary.LittleEndian.Uint32(entry)]
		if !ok {
			continue
		}
		name := cString(all, binary.LittleEndian.Uint32(entry[4:]))
		path := cString(all, binary.LittleEndian.Uint32(entry[8:]))
		if name == "" || path == "" {
			continue
		}
		if c.paths[machine] == nil {
			c.paths[machine] = map[string][]string{}
		}
		c.paths[machine][name] = append(c.paths[machine][name], path)
	}
	return c
}

// maxLDString bounds one string: overlapping offsets must not cost the square of
// the file's size.
const maxLDString = 4096

// cString is the NUL-ended string at offset, "" if there is none.
func cString(text string, offset uint32) string {
	if uint64(offset) >= uint64(len(text)) {
		return ""
	}
	text = text[offset:]
	end := strings.IndexByte(text[:min(len(text), maxLDString)], 0)
	if end < 0 {
		return ""
	}
	return text[:end]
}
