package confine

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// cacheOf makes a cache of entries: flags, name, path.
func cacheOf(entries ...[3]string) []byte {
	flags := map[string]uint32{"x86-64": 0x0303, "aarch64": 0x0a03, "i386": 0x0003}
	text := make([]byte, ldHeaderBytes+len(entries)*ldEntryBytes)
	copy(text, ldMagic)
	binary.LittleEndian.PutUint32(text[len(ldMagic):], uint32(len(entries)))
	for i, e := range entries {
		at := ldHeaderBytes + i*ldEntryBytes
		binary.LittleEndian.PutUint32(text[at:], flags[e[0]])
		for j, s := range e[1:] {
			binary.LittleEndian.PutUint32(text[at+4+4*j:], uint32(len(text)))
			text = append(append(text, s...), 0)
		}
	}
	return text
}

func TestLDCache(t *testing.T) {
	text := cacheOf([3]string{"x86-64", "liba.so.1", "/lib/liba.so.1"}, [3]string{"i386", "liba.so.1", "/lib32/liba.so.1"},
		[3]string{"x86-64", "liba.so.1", "/lib/glibc-hwcaps/x86-64-v3/liba.so.1"}, [3]string{"aarch64", "libb.so", "/lib/libb.so"})
	for _, prefix := range []string{"", "ld.so-1.7.0\x00 an older cache before it "} {
		c := parseLDCache(append([]byte(prefix), text...))
		if got := c.find("liba.so.1", elf.EM_X86_64); !slices.Equal(got, []string{"/lib/liba.so.1", "/lib/glibc-hwcaps/x86-64-v3/liba.so.1"}) {
			t.Errorf("liba.so.1: %v", got)
		}
		if got := c.find("libb.so", elf.EM_AARCH64); !slices.Equal(got, []string{"/lib/libb.so"}) {
			t.Errorf("libb.so: %v", got)
		}
		if got := c.find("libb.so", elf.EM_X86_64); got != nil {
			t.Errorf("libb.so of another machine: %v", got)
		}
	}
	for _, text := range []string{"", "nothing", ldMagic, string(text[:ldHeaderBytes+10])} {
		if c := parseLDCache([]byte(text)); len(c.paths) > 0 {
			t.Errorf("%q: %v", text, c.paths)
		}
	}
}

// The system's own listing of its cache is the oracle.
func TestLDCacheOfThisMachine(t *testing.T) {
	out, err := exec.Command("/sbin/ldconfig", "-p").Output()
	if err != nil {
		t.Skip("no ldconfig")
	}
	c := readLDCache(ldCachePath)
	listed := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) \(libc6,(x86-64|AArch64)[^)]*\) => (\S+)$`).FindAllStringSubmatch(string(out), -1) {
		machine := elf.EM_X86_64
		if m[2] == "AArch64" {
			machine = elf.EM_AARCH64
		}
		listed++
		if !slices.Contains(c.find(m[1], machine), m[3]) {
			t.Errorf("%s => %s is not found", m[1], m[3])
		}
	}
	if listed == 0 {
		t.Skip("ldconfig lists nothing")
	}
}

func FuzzLDCache(f *testing.F) {
	f.Add(cacheOf([3]string{"x86-64", "liba.so.1", "/lib/liba.so.1"}))
	f.Add([]byte(ldMagic))
	if text, err := os.ReadFile(ldCachePath); err == nil && len(text) < 1<<16 {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, names := range parseLDCache(text).paths {
			for name, paths := range names {
				if name == "" || slices.Contains(paths, "") {
					t.Errorf("an empty string in %q: %q", name, paths)
				}
			}
		}
	})
}

func FuzzInterpreterLine(f *testing.F) {
	f.Add([]byte("#!/usr/bin/env -S node --flag\n"))
	f.Add([]byte("#! /bin/sh -e\x00"))
	f.Fuzz(func(t *testing.T, head []byte) {
		line := parseInterpreter(head)
		interpreter, argument := splitInterpreter(line)
		if line != "" && interpreter == "" {
			t.Errorf("%q has no interpreter", line)
		}
		if name, args := envCommand(argument, []string{"script"}); name != "" && args[len(args)-1] != "script" {
			t.Errorf("%q loses the script", line)
		}
	})
}
