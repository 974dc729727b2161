package cli

import (
	"errors"
	"io"
	"os"
)

// record is a record file that is read more than once: as long as it was when
// it was opened, since a live one grows.
type record struct {
	file *os.File
	size int64
}

// openRecord opens the record at path. What cannot be read twice, a pipe, is
// first copied into a file without a name.
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
		return &record{f, info.Size()}, nil
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
	os.Remove(f.Name()) // where an open file cannot be removed, close tries again
	n, err := io.Copy(f, pipe)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &record{f, n}, nil
}

func (r *record) reader() io.Reader { return io.NewSectionReader(r.file, 0, r.size) }

func (r *record) close() { r.file.Close() }
