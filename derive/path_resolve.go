package derive

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may lead through: Linux's own
// bound (path_resolution(7)), and more than that of the BSDs.
const maxLinks = 40

const (
	faultPathLoop     = "too many symbolic links"
	faultPathAccess   = "the path cannot be looked up"
	faultPathBase     = "the working directory is not known"
	faultPathMagic    = "a link of /proc leads to another file for each process"
	faultPathTwoWays  = ".. after a symbolic link: a kernel and a path library go different ways"
	faultPathResolved = "the path leads to a name that is not a plain one"
)

// ResolvePath reads a path as ReadPath does and follows the symbolic links that
// exist now: every existing directory of it, a link in the last place, and where
// a dangling one points, since writing through it makes its target. What does
// not exist is kept as it is spelled. A relative path is taken from the working
// directory, which a server inherits, and comes out absolute.
//
// A .. is applied after the link before it, as a kernel does. Many servers
// apply it to the text first; where the two end at different files there is a
// Fault. Links of procfs, directories that may not be searched and more than 40
// links have one too.
//
// A Fault of ReadPath comes first, with nothing looked up. It is a race by
// nature: the links may be others when the path is used.
func ResolvePath(raw string) Path {
	p := ReadPath(raw)
	if p.Fault != "" {
		return p
	}
	p.Resolved = AtDecision
	text, _ := pathText(raw)
	lexical := p.Clean
	if !strings.HasPrefix(text, "/") {
		base, err := os.Getwd()
		if err != nil || !strings.HasPrefix(base, "/") {
			p.Fault = faultPathBase
			return p
		}
		text, lexical = base+"/"+text, base+"/"+lexical
	}
	p.Clean, p.Entry, p.Fault = followLinks(text)
	if p.Fault == "" && strings.Contains(text, "..") {
		if again, entry, fault := followLinks(lexical); fault != "" || again != p.Clean || entry != p.Entry {
			p.Fault = faultPathTwoWays
		}
	}
	if p.Fault == "" && len(p.Clean) > MaxPath {
		p.Fault = faultPathLong
	}
	if p.Fault == "" {
		// What a link spells came from the disk, not through ReadPath.
		if _, fault := pathCharacters(p.Clean + p.Entry); fault != "" || strings.Contains(p.Clean+p.Entry, `\`) {
			p.Fault = faultPathResolved
		}
	}
	if p.Fault != "" {
		p.Clean, p.Entry = "", ""
	}
	return p
}

// followLinks walks an absolute path component by component. entry is where the
// last component of text itself lies.
func followLinks(text string) (clean, entry, fault string) {
	var (
		at      string // the directory reached, free of links; "" is the root
		missing = -1   // length of at where it stops to exist
		links   int
		pending = []string{text} // what is still to walk, the innermost link's target last
	)
	for len(pending) > 0 {
		top := len(pending) - 1
		rest := strings.TrimLeft(pending[top], "/")
		if rest == "" {
			pending = pending[:top]
			continue
		}
		name, after, _ := strings.Cut(rest, "/")
		pending[top] = after
		switch name {
		case ".":
		case "..":
			at = at[:max(strings.LastIndexByte(at, '/'), 0)]
			if len(at) < missing {
				missing = -1
			}
		default:
			full := at + "/" + name
			if top == 0 {
				entry = full
			}
			target, kind, fault := readPathLink(at, full, missing >= 0)
			switch {
			case fault != "":
				return "", "", fault
			case kind == pathLink:
				if links++; links > maxLinks {
					return "", "", faultPathLoop
				}
				if strings.HasPrefix(target, "/") {
					at = ""
				}
				pending = append(pending, target)
				continue
			case kind == pathMissing && missing < 0:
				missing = len(full)
			}
			at = full
			continue
		}
		if top == 0 {
			entry = at
		}
	}
	return rooted(at), rooted(entry), ""
}

func rooted(at string) string {
	if at == "" {
		return "/"
	}
	return at
}

type pathKind uint8

const (
	pathPlain pathKind = iota
	pathLink
	pathMissing
)

// readPathLink says what full, an entry of dir, is. Below what does not exist
// nothing exists.
func readPathLink(dir, full string, missing bool) (target string, kind pathKind, fault string) {
	if missing {
		return "", pathMissing, ""
	}
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", pathMissing, ""
	case err != nil:
		return "", 0, faultPathAccess
	case info.Mode()&fs.ModeSymlink == 0:
		return "", pathPlain, ""
	case magicLinks(rooted(dir)):
		return "", 0, faultPathMagic
	}
	if target, err = os.Readlink(full); err != nil || target == "" {
		return "", 0, faultPathAccess
	}
	return target, pathLink, ""
}
