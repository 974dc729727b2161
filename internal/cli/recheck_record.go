package cli

import (
	"errors"
	"io"
	"os"
)

// record is a record file that is read more than once: as long as it was when
// it was opened, since a live one grows.
type record struct {
	file   *os.File
	size   int64
	remove string // a temporary file that still has its name
}

// openRecord opens the record at path. What cannot be read twice, a pipe, is
// first copied into a temporary file.
func openRecord(path string) (*record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errors.New("is a directory")
	case info.Mode().IsRegular():
		return &record{file: f, size: info.Size()}, nil
	default:
		return spool(f)
	}
	f.Close()
	return nil, err
}

func spool(pipe *os.File) (*record, error) {
	defer pipe.Close()
	f, err := os.CreateTemp("", "aegis-recheck-*")
	if err != nil {
		return nil, err
	}
	r := &record{file: f}
	if os.Remove(f.Name()) != nil { // some systems remove no open file
		r.remove = f.Name()
	}
	if r.size, err = io.Copy(f, pipe); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *record) reader() io.Reader { return io.NewSectionReader(r.file, 0, r.size) }

func (r *record) close() {
	r.file.Close()
	if r.remove != "" {
		os.Remove(r.remove)
	}
}
