//go:build linux && (amd64 || arm64)

package confine

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
)

// removeTree removes a directory that a server had to itself, whatever is left
// in it. [os.RemoveAll] gives up on a directory that its owner may not change, and
// on one that is nested deeper than there are descriptors. Processes of the
// server may still be at it: nothing is followed out of the directory.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	r := remover{root: root, left: maxRemoved}
	if err := r.empty("."); err != nil {
		return err
	}
	return os.Remove(dir)
}

// maxRemoved is after how many entries a directory is given up on: somebody may
// be filling it as fast as it is emptied.
const maxRemoved = 1 << 20

// remover empties a directory. What lies two levels deep is moved up and is met
// again there, so that names stay short.
type remover struct {
	root  *os.Root
	moved int // the last name that something was moved to
	left  int // entries to go
}

// removedAtOnce is how many names of a directory are held.
const removedAtOnce = 1024

func (r *remover) empty(dir string) error {
	for {
		list, err := r.list(dir)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, entry := range list {
			if r.left--; r.left < 0 {
				return errors.New("too much is in it")
			}
			if err := r.remove(dir, entry); err != nil {
				return err
			}
		}
	}
}

func (r *remover) list(dir string) ([]fs.DirEntry, error) {
	f, err := r.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(removedAtOnce)
	if err == io.EOF {
		err = nil
	}
	return list, err
}

func (r *remover) remove(dir string, entry fs.DirEntry) error {
	name := path.Join(dir, entry.Name())
	if !entry.IsDir() {
		return r.root.Remove(name)
	}
	if err := r.root.Chmod(name, 0o700); err != nil {
		return err
	}
	if dir != "." {
		return r.moveUp(name)
	}
	if err := r.empty(name); err != nil {
		return err
	}
	return r.root.Remove(name)
}

// moveUp gives a directory a name at the top that nothing has yet.
func (r *remover) moveUp(name string) error {
	for {
		r.moved++
		to := strconv.Itoa(r.moved)
		if _, err := r.root.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return r.root.Rename(name, to)
		} else if err != nil {
			return err
		}
	}
}
