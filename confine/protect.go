package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Protected is a file of ours that the server must not change, or not even read.
type Protected struct {
	What   string // `the policy file`
	Path   string
	Secret bool // must not be read either
}

// An ExposedError names a file of ours that a grant gives to the server.
type ExposedError struct {
	Protected
	Grant Grant
}

func (e *ExposedError) Error() string {
	can := "change"
	if e.Grant.Rights&Write == 0 {
		can = "read"
	}
	return fmt.Sprintf("%s %s lies under %s, which is granted to the server (%s): the server could %s it; move it, or grant less",
		e.What, e.Path, e.Grant.Path, e.Grant.Why, can)
}

// Protect refuses a Plan that would let the server change one of the files, or
// read one that is secret. A file need not exist yet. Every symbolic link on the
// way to it counts too: who may replace a link decides what is found behind it.
// A second hard link elsewhere, and a bind mount, are not seen.
func (p *Plan) Protect(files ...Protected) error {
	for _, f := range files {
		places, err := places(absolute(p.dir, f.Path))
		if err != nil {
			return fmt.Errorf("%s %s: %w", f.What, f.Path, cause(err))
		}
		for i, place := range places {
			want := Write
			if f.Secret && i == len(places)-1 {
				want |= Read
			}
			if g, ok := p.covers(place, want); ok {
				return &ExposedError{f, g}
			}
		}
	}
	return nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return path
	}
	return filepath.Join(dir, path)
}

// maxLinks is how many symbolic links Linux follows on one path (path_resolution(7)).
const maxLinks = 40

// places are the names that a path leads over, without links in their own
// directories: each symbolic link on the way and, last, what is found at the end,
// whether it exists or not.
func places(path string) (names []string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	at, rest := root, strings.TrimPrefix(path[len(volume):], string(filepath.Separator))
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, string(filepath.Separator))
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			// What is behind it cannot be a link.
			return append(names, filepath.Join(next, rest)), nil
		}
		if err != nil {
			return nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return nil, errors.New("too many levels of symbolic links")
		}
		names = append(names, next)
		target, err := os.Readlink(next)
		if err != nil {
			return nil, err
		}
		if filepath.IsAbs(target) {
			at = root
		}
		rest = filepath.Join(target, ".") + string(filepath.Separator) + rest
	}
	return append(names, at), nil
}
