package aar_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
)

// recordSession records one whole Session with a Call at path.
func recordSession(t testing.TB, path string) {
	t.Helper()
	sink, err := aar.OpenFile(path)
	must(t, err)
	w := mustWriter(t, sink)
	must(t, mustBegin(t, w).End(succeeded()))
	must(t, w.Close(aar.Close{}))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.ReadFile(path)
	must(t, err)
	return file
}

func TestSessionsOfOneFileAreOneChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.aarl")
	var tails []aar.LineHash
	for range 3 {
		recordSession(t, path)
		sink, err := aar.OpenFile(path)
		must(t, err)
		tails = append(tails, *sink.Tail())
		must(t, sink.Close())
	}
	var opens []*aar.Open
	for _, line := range lines(t, read(t, path)) {
		if open, ok := line.(*aar.Open); ok {
			opens = append(opens, open)
		}
	}
	if len(opens) != 3 || opens[0].PrevSessionTail != nil || *opens[1].PrevSessionTail != tails[0] || *opens[2].PrevSessionTail != tails[1] {
		t.Errorf("tails %v, opens %v", tails, opens)
	}
	// Call ids start anew in every Session.
	if got := outcomes(t, read(t, path)); got[0].CallID != "call-1" || got[2].CallID != "call-1" {
		t.Errorf("call ids %s and %s", got[0].CallID, got[2].CallID)
	}
	wantHeadline(t, read(t, path), "Verified (unpinned)")
}

// What a file may end with, and what a Session that finds it does.
func TestOpenFileWithATail(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.aarl")
	recordSession(t, whole)
	session := read(t, whole)
	last := int64(bytes.LastIndexByte(session[:len(session)-1], '\n') + 1) // where the close line starts
	tail := func(text string) []byte { return append(bytes.Clone(session), text...) }
	torn := func(line, at int) string {
		return fmt.Sprintf("audit file has a torn final line at line %d; refusing to chain onto it: PATH is whole up to byte %d; keep it as evidence and record elsewhere, or cut it there (`truncate -s %d`) and start again", line, at, at)
	}
	for _, tc := range []struct {
		name string
		file []byte
		want string // the error; empty if a Session chains on and the file is Verified then
	}{
		{"an empty file", nil, ""},
		{"blank lines only", []byte("\n \r\n\n\t"), ""},
		{"a whole session", session, ""},
		{"a whole last line without its LF", session[:len(session)-1], ""},
		{"blank lines at the end", tail("\n\r\n \n"), ""},
		{"CRLF", bytes.ReplaceAll(session, []byte("\n"), []byte("\r\n")), ""},
		{"CRLF, the last LF missing", bytes.TrimSuffix(bytes.ReplaceAll(session, []byte("\n"), []byte("\r\n")), []byte("\n")), ""},
		{"no close line", session[:last], ""},

		{"half a last line", session[:len(session)-9], torn(4, int(last))},
		{"half a last line with its LF", append(session[:len(session)-9:len(session)-9], '\n'), torn(4, int(last))},
		{"one byte of a line", tail("{"), torn(5, len(session))},
		{"blank lines are not counted", tail("\n\n{\n\n"), torn(5, len(session)+2)},
		{"NUL bytes", tail(string(make([]byte, 4096))), torn(5, len(session))},
		{"a line that NUL bytes run into", append(session[:last+40:last+40], make([]byte, 100_000)...), torn(4, int(last))},
		{"a torn rune", tail("{\"a\":\"\xe2\x82"), torn(5, len(session))},
		{"a long torn line", tail(`{"a":"` + strings.Repeat("x", 3<<20)), torn(5, len(session))},
		{"all of it is torn", []byte(`{"key_id":"77`), torn(1, 0)},

		{"JSON that is no line", []byte("{\"a\":1}\n"), "record PATH does not end with a line of a record: no line_type, seq and prev_hash; refusing to append to it"},
		{"JSON that is no line, behind lines that are", tail("[1]\n"), "record PATH does not end with a line of a record: no line_type, seq and prev_hash; refusing to append to it"},
		{"a value without a reproducible hash", tail("{\"a\":1.5}\n"), "record PATH does not end with a line of a record: floating-point value at $.a is outside the JCS value space; refusing to append to it"},
		{"a last line over the limit", tail(strings.Repeat("x", aar.MaxLine+1)), "record PATH: the last line is longer than 16777216 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "record.aarl")
			must(t, os.WriteFile(path, tc.file, 0o600))
			sink, err := aar.OpenFile(path)
			if tc.want != "" {
				want := strings.ReplaceAll(tc.want, "PATH", path)
				if err == nil || err.Error() != want {
					t.Errorf("OpenFile:\n%v, want\n%s", err, want)
				}
				if !bytes.Equal(read(t, path), tc.file) {
					t.Error("a file that was refused has changed")
				}
				// The way out that the error names works.
				if torn, ok := errors.AsType[*aar.TornError](err); ok {
					must(t, os.Truncate(path, torn.Offset))
					recordSession(t, path)
					wantHeadline(t, read(t, path), "Verified (unpinned)")
				}
				return
			}
			must(t, err)
			must(t, sink.Close())
			recordSession(t, path)
			if file := read(t, path); !bytes.HasPrefix(file, tc.file) {
				t.Error("what stood in the file has changed")
			}
			wantHeadline(t, read(t, path), "Verified (unpinned)")
		})
	}
}

// What is no record file is refused in one line that names it.
func TestOpenFileOfSomethingElse(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "file")
	must(t, os.WriteFile(inTheWay, nil, 0o600))
	for _, tc := range []struct{ name, path, want string }{
		{"a directory", dir, "is a directory"},
		{"below a file", filepath.Join(inTheWay, "record.aarl"), "not a directory"},
		{"below a file, deeper", filepath.Join(inTheWay, "a", "record.aarl"), "not a directory"},
	} {
		sink, err := aar.OpenFile(tc.path)
		if sink != nil || err == nil || runtime.GOOS != "windows" && !strings.HasSuffix(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "record "+tc.path+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := aar.CreateFile(inTheWay); err == nil {
		t.Error("CreateFile in a file")
	}
}

// One file a Session: no name is given twice, whatever the clock says.
func TestCreateFileNamesAreUnique(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records", "here")
	seen := map[string]bool{}
	for range 100 {
		sink, err := aar.CreateFile(dir)
		must(t, err)
		path := sink.Path()
		if seen[path] || filepath.Dir(path) != dir || filepath.Ext(path) != ".aarl" {
			t.Errorf("%s", path)
		}
		seen[path] = true
		if sink.Tail() != nil {
			t.Error("a new file has a tail")
		}
		must(t, mustWriter(t, sink).Close(aar.Close{}))
		wantHeadline(t, read(t, path), "Verified (unpinned)")
	}
}

// Two writers would fork the Chain: the second is told who has the file, and
// the way out.
func TestSecondWriterIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.aarl")
	sink, err := aar.OpenFile(path)
	must(t, err)
	w := mustWriter(t, sink)
	_, err = aar.OpenFile(path)
	locked, ok := errors.AsType[*aar.LockedError](err)
	if !ok {
		t.Fatalf("OpenFile of a file in use: %v", err)
	}
	holder := "another process"
	if runtime.GOOS == "linux" {
		holder = fmt.Sprintf("process %d", os.Getpid())
	}
	want := fmt.Sprintf("record %s is in use by %s; one file takes one session at a time: give `--audit DIR/` for one file a session", path, holder)
	if locked.Path != path || err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	wantHeadline(t, read(t, path), "Indeterminate: session 0 has no close record and nothing anchors beyond it; 0 call(s) in flight")
	must(t, w.Close(aar.Close{}))
	recordSession(t, path) // the lock ended with the Session
	wantHeadline(t, read(t, path), "Verified (unpinned)")
}
