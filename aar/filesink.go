package aar

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
)

// FileSink stores a Chain in a file. It is [Durable]: Sync is fdatasync on
// Linux and os.File.Sync elsewhere. It holds an exclusive lock on the file, so
// that two processes cannot fork one Chain.
type FileSink struct {
	file *os.File
	size int64 // where the last whole Line ends
	tail *LineHash
}

// OpenFile opens the record file at path, makes it (mode 0600, with its
// directories, 0700) if it is missing, locks it and recovers its tail. The
// errors a caller may want to tell apart are *[LockedError] and *[TornError].
func OpenFile(path string) (*FileSink, error) {
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("record %s: %w", path, err)
	}
	_, err := os.Lstat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	return openFile(path, os.O_CREATE, fresh)
}

// CreateFile makes a record file of its own name in the directory dir: one
// file a Session, so that no Session waits for another one's lock.
func CreateFile(dir string) (*FileSink, error) {
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("record %s: %w", dir, err)
	}
	name := fmt.Sprintf("%s-%s.aarl", time.Now().UTC().Format("20060102T150405Z"), rand.Text()[:8])
	return openFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL, true)
}

// makeDir makes dir, mode 0700, with what it lies in, and makes each new name
// durable: a synced file in a directory that is lost is lost.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func openFile(path string, flags int, fresh bool) (*FileSink, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", path, unwrapPath(err))
	}
	s := &FileSink{file: file}
	if err := s.recover(fresh); err != nil {
		file.Close()
		return nil, err
	}
	return s, nil
}

// recover takes the lock, then reads where the Chain ends.
func (s *FileSink) recover(fresh bool) error {
	path := s.file.Name()
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("record %s: %w", path, unwrapPath(err))
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("record %s: not a regular file", path)
	}
	if err := lockFile(s.file); err != nil {
		return err
	}
	if fresh {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return fmt.Errorf("record %s: %w", path, err)
		}
	}
	info, err = s.file.Stat() // the size, now that nobody else appends
	if err != nil {
		return fmt.Errorf("record %s: %w", path, unwrapPath(err))
	}
	row, start, err := lastRow(s.file, info.Size())
	if err != nil {
		return fmt.Errorf("record %s: %w", path, err)
	}
	s.size = info.Size()
	if row == nil {
		return nil
	}
	hash, err := lineHash(row)
	if _, torn := errors.AsType[*SyntaxError](err); torn && beginsAsRecord(s.file, row, start) {
		line, err := rowNumber(s.file, start)
		if err != nil {
			return fmt.Errorf("record %s: %w", path, err)
		}
		return &TornError{Path: path, Line: line, Offset: start}
	}
	if err != nil {
		return fmt.Errorf("record %s does not end with a line of a record: %w; refusing to append to it", path, err)
	}
	s.tail = &hash
	if !endsWithLF(s.file, s.size) {
		return s.Append([]byte("\n"))
	}
	return nil
}

// beginsAsRecord tells a record with a torn end from a file that never was one,
// which nobody should be told to cut. row is the file's last and starts at start.
func beginsAsRecord(f io.ReaderAt, row []byte, start int64) bool {
	if start > 0 {
		first, err := newRowReader(io.NewSectionReader(f, 0, start)).next()
		if err != nil {
			return false
		}
		_, err = lineHash(first.text)
		return err == nil
	}
	// All there is may be half an open Line, or the zeros that a power cut left of it.
	const open = `{"key_id":"`
	return bytes.HasPrefix(row, []byte(open)) || bytes.HasPrefix([]byte(open), row) || len(bytes.Trim(row, "\x00")) == 0
}

// lineHash hashes a stored Line, which must at least hold a place in a Chain.
func lineHash(row []byte) (LineHash, error) {
	canonical, err := Canonicalize(row)
	if err != nil {
		return LineHash{}, err
	}
	var link struct {
		LineType *string   `json:"line_type"`
		Seq      *uint64   `json:"seq"`
		PrevHash *LineHash `json:"prev_hash"`
	}
	if json.Unmarshal(canonical, &link) != nil || link.LineType == nil || link.Seq == nil || link.PrevHash == nil {
		return LineHash{}, errors.New("no line_type, seq and prev_hash")
	}
	return sha256.Sum256(canonical), nil
}

var errLongTail = fmt.Errorf("the last line is longer than %d bytes", MaxLine)

// lastRow returns the last row that is not blank, some of the white space at its
// end perhaps left out, and the offset it starts at; nil if the file has none.
func lastRow(f io.ReaderAt, size int64) (row []byte, start int64, err error) {
	var tail []byte // the file from start on
	start = size
	for start > 0 {
		n := min(start, max(64<<10, int64(len(tail)))) // doubling, so that a long row is not copied per chunk
		chunk := make([]byte, n, int(n)+len(tail))
		if _, err := f.ReadAt(chunk, start-n); err != nil {
			return nil, 0, err
		}
		tail, start = append(chunk, tail...), start-n
		trimmed := bytes.TrimRight(tail, "\n")
		if len(bytes.TrimSpace(trimmed)) == 0 {
			tail = nil
			continue
		}
		for {
			lf := bytes.LastIndexByte(trimmed, '\n')
			row := trimmed[lf+1:]
			if lf < 0 && start > 0 {
				break // the row may start in the chunk before
			}
			if len(row) > MaxLine {
				return nil, 0, errLongTail
			}
			if len(bytes.TrimSpace(row)) > 0 {
				return row, start + int64(lf+1), nil
			}
			trimmed = trimmed[:lf]
		}
		if len(tail) > MaxLine+64<<10 {
			return nil, 0, errLongTail
		}
	}
	return nil, 0, nil
}

func endsWithLF(f io.ReaderAt, size int64) bool {
	var last [1]byte
	_, err := f.ReadAt(last[:], size-1)
	return err == nil && last[0] == '\n'
}

// rowNumber counts the rows up to and with the one at offset, blank ones left
// out, as verify does. What they hold is not looked at: power loss may have
// damaged more lines than the last.
func rowNumber(f io.ReaderAt, offset int64) (uint64, error) {
	rows := newRowReader(io.NewSectionReader(f, 0, offset))
	for n := uint64(1); ; {
		text, err := rows.line()
		if err == io.EOF {
			return n, nil
		} else if err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			n++
		}
	}
}

// A TornError says that a record's last line is the remains of a write that
// did not end. Nothing is appended to it: the two would fuse, and both be lost.
type TornError struct {
	Path   string
	Line   uint64 // from 1, blank rows not counted
	Offset int64  // in bytes, where the torn line starts
}

func (e *TornError) Error() string {
	return fmt.Sprintf("audit file has a torn final line at line %d; refusing to chain onto it: %s is whole up to byte %d; keep it as evidence and record elsewhere, or cut it there (`truncate -s %d`) and start again",
		e.Line, e.Path, e.Offset, e.Offset)
}

// A LockedError says that another process records to the file.
type LockedError struct {
	Path   string
	Holder string // what is known of it
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("record %s is in use by %s; one file takes one session at a time: give `--audit DIR/` for one file a session", e.Path, e.Holder)
}

// Path is the name of the file.
func (s *FileSink) Path() string { return s.file.Name() }

// Durability implements [Sink].
func (*FileSink) Durability() Durability { return Durable }

// Tail implements [Sink].
func (s *FileSink) Tail() *LineHash { return s.tail }

// Append implements [Sink]. A short write is cut off again.
func (s *FileSink) Append(lines []byte) error {
	n, err := s.file.Write(lines)
	if err == nil {
		s.size += int64(n)
		return nil
	}
	if n > 0 {
		if undo := s.file.Truncate(s.size); undo != nil {
			return fmt.Errorf("%w: %w, and the part that was written could not be cut off: %w", ErrPoisoned, unwrapPath(err), unwrapPath(undo))
		}
	}
	return unwrapPath(err)
}

// Sync implements [Sink].
func (s *FileSink) Sync() error { return datasync(s.file) }

// Close implements [Sink] and gives up the lock.
func (s *FileSink) Close() error { return s.file.Close() }
