package confine

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// grants collects the grants of a Plan by their real path.
type grants struct {
	dir  string
	byID map[string]Grant
}

func newGrants(dir string) *grants { return &grants{dir: dir, byID: map[string]Grant{}} }

func (g *grants) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(g.dir, path)
}

// add grants what path leads to. Rights on a path that is there already are
// joined; the first reason is kept unless the second gives more.
func (g *grants) add(path string, rights Rights, why string) error {
	real, err := realPath(g.abs(path))
	if err != nil {
		return err
	}
	if !utf8.ValidString(real) {
		return errNotText
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	why = strings.ToValidUTF8(why, "\ufffd") // it may name a script that is reached in another way
	have, ok := g.byID[real]
	switch {
	case !ok:
		g.byID[real] = Grant{Path: real, Tree: info.IsDir(), Rights: rights, Why: why}
	case have.Rights|rights != have.Rights:
		have.Rights |= rights
		if have.Why != why {
			have.Why += ", " + why
		}
		g.byID[real] = have
	}
	return nil
}

// errNotText refuses a name that no plan and no record can spell.
var errNotText = errors.New("its name is not UTF-8")

// sorted are the grants by path. A grant that lies in a tree which gives as much
// is left out: it is no more than the tree.
func (g *grants) sorted() []Grant {
	var kept []Grant
	for _, path := range slices.Sorted(maps.Keys(g.byID)) {
		grant := g.byID[path]
		implied := slices.ContainsFunc(kept, func(tree Grant) bool {
			return tree.Tree && tree.Rights&grant.Rights == grant.Rights && within(path, tree.Path)
		})
		if !implied {
			kept = append(kept, grant)
		}
	}
	return kept
}

// procSelf is a link to a directory of the process that looks: the server's, not
// the planner's. The helper, which becomes the server, resolves it.
const procSelf = "/proc/self"

// realPath is path without symbolic links.
func realPath(path string) (string, error) {
	if filepath.Clean(path) == procSelf {
		return procSelf, nil
	}
	return filepath.EvalSymlinks(path)
}

// cause is an error without the operation and the path it was met on, which the
// sentence around it names already.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return cause(e.Err)
	}
	return err
}
