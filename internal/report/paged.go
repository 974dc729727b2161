package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// blockSize is the unit in which a write cannot be torn by a kill: Linux
	// looks for a fatal signal between the pages of a write, never within one.
	// Pages have at least this size everywhere.
	blockSize = 4 << 10

	// firstRoom is the room for results in a new document.
	firstRoom = 64 << 10
)

// paged is a JSON document in a regular file that is whole at any time.
//
//	head, results   spaces …   | suffix
//
// The suffix that closes the document stands at the start of a block behind
// room that is filled with spaces, which JSON allows there. A result is written
// into the room, within one block, by one write: it is there as a whole or not
// at all. When the room is used up the document is written anew with twice the
// room, beside the file, and renamed into its place, as it is at the end,
// without any room. So a killed process leaves a document with every result
// that was written, and n results cost the time of writing them three times.
//
// Where there can be no file beside it, in a folder that may not be written or
// on a system that renames no open file, the document grows in place; then a
// kill between the two writes of that step leaves it open.
//
// What was written survives a kill of the process, not of the machine.
type paged struct {
	file   *File
	path   string // of the file itself, links followed
	at     int64  // end of the results
	suffix int64  // where the suffix stands
	text   []byte // the suffix
}

func newPaged(file *File, head, suffix []byte) (*paged, error) {
	path, err := filepath.EvalSymlinks(file.Name())
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, err
	}
	d := &paged{file: file, path: path, at: int64(len(head)), text: suffix}
	return d, d.rewrite(bytes.NewReader(head), firstRoom)
}

func (d *paged) add(text []byte) error {
	if len(text) > blockSize {
		return fmt.Errorf("a result of %d bytes", len(text))
	}
	at := d.at
	if left := blockSize - at%blockSize; left < int64(len(text)) {
		at += left
	}
	if at+int64(len(text)) > d.suffix {
		if err := d.rewrite(io.NewSectionReader(d.file, 0, d.at), max(d.at, firstRoom)); err != nil {
			return err
		}
	}
	if _, err := d.file.WriteAt(text, at); err != nil {
		return err
	}
	d.at = at + int64(len(text))
	return nil
}

func (d *paged) end(suffix []byte) error {
	old := len(d.text)
	d.text = suffix
	_, err := d.file.WriteAt(pad(suffix, old), d.suffix)
	return err
}

// pad makes text at least n bytes long, with spaces.
func pad(text []byte, n int) []byte {
	return append(bytes.Clone(text), bytes.Repeat([]byte{' '}, max(0, n-len(text)))...)
}

func (d *paged) drop() { d.file.Close() }

func (d *paged) finish(suffix []byte) error {
	d.text = suffix
	err := d.rewrite(io.NewSectionReader(d.file, 0, d.at), 0)
	return errors.Join(err, d.file.Close())
}

// rewrite writes the document anew: d.at bytes of results, at least room bytes
// of room, or none, and the suffix.
func (d *paged) rewrite(results io.Reader, room int64) error {
	suffix := d.at
	if room > 0 {
		suffix = (d.at + room + blockSize - 1) / blockSize * blockSize
	}
	next, err := d.beside(results, suffix)
	if err != nil {
		if _, again := results.(io.Seeker).Seek(0, io.SeekStart); again != nil {
			return again
		}
		err = d.inPlace(results, suffix)
	} else {
		d.file.Close()
		d.file = next
	}
	if err == nil {
		d.suffix = suffix
	}
	return err
}

// beside writes the document into a new file that takes the place of the old.
func (d *paged) beside(results io.Reader, suffix int64) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(d.path), "."+filepath.Base(d.path)+".*")
	if err != nil {
		return nil, err
	}
	err = d.write(f, results, suffix)
	if err == nil {
		err = f.Chmod(d.file.mode)
	}
	if err == nil {
		err = os.Rename(f.Name(), d.path)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return &File{File: f, regular: true, mode: d.file.mode}, nil
}

func (d *paged) write(w io.Writer, results io.Reader, suffix int64) error {
	if _, err := io.Copy(w, results); err != nil {
		return err
	}
	return d.writeRoom(w, suffix-d.at)
}

// writeRoom writes n spaces and the suffix.
func (d *paged) writeRoom(w io.Writer, n int64) error {
	spaces := bytes.Repeat([]byte{' '}, 64<<10)
	for ; n > 0; n -= int64(len(spaces)) {
		if _, err := w.Write(spaces[:min(n, int64(len(spaces)))]); err != nil {
			return err
		}
	}
	_, err := w.Write(d.text)
	return err
}

// inPlace moves the suffix. Results are already in the file, but for a new one.
func (d *paged) inPlace(results io.Reader, suffix int64) error {
	if d.suffix == 0 {
		if err := d.file.Truncate(0); err != nil {
			return err
		}
		return d.write(d.file, results, suffix)
	}
	if suffix <= d.suffix {
		if _, err := d.file.WriteAt(d.text, suffix); err != nil {
			return err
		}
		return d.file.Truncate(suffix + int64(len(d.text)))
	}
	old := d.suffix
	if err := d.writeRoom(io.NewOffsetWriter(d.file, old+int64(len(d.text))), suffix-old-int64(len(d.text))); err != nil {
		return err
	}
	_, err := d.file.WriteAt(bytes.Repeat([]byte{' '}, len(d.text)), old)
	return err
}
