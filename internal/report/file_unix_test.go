//go:build unix

package report

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A named pipe has its document whole when it is closed, and must have a reader
// at the start: else a session would wait for ever.
func TestNamedPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(Options{SARIF: path}); err == nil || !strings.Contains(err.Error(), "no process reads this pipe") {
		t.Errorf("without a reader: %v", err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s, err := Open(Options{SARIF: path, Rules: testRules})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte)
	go func() {
		text, _ := io.ReadAll(reader)
		got <- text
	}()
	for i := range 200 {
		s.Report(ansi(i))
	}
	if err := s.Close(Summary{}); err != nil {
		t.Fatal(err)
	}
	if n := len(validSARIF(t, <-got).Runs[0].Results); n != 200 {
		t.Errorf("%d results", n)
	}
}

// A reader that has stopped reading holds a session up for a moment, once.
func TestPipeThatIsNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.patience = time.Millisecond
	if _, err := f.Write(make([]byte, 4<<20)); err == nil || !strings.Contains(err.Error(), "the reader has not taken") {
		t.Errorf("%v", err)
	}
	f.Close()
}

// A reader that has gone ends the output and not the session.
func TestPipeWithoutItsReader(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	s, err := Open(Options{JSON: path, Note: func(n string) { notes = append(notes, n) }})
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	for i := range 10 {
		s.Report(ansi(i))
	}
	if err := s.Close(Summary{}); err == nil || len(notes) != 1 || !strings.Contains(notes[0], "broken pipe") {
		t.Errorf("%v, notes %q", err, notes)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	if _, err := Open(Options{SARIF: "/dev/full"}); err == nil {
		t.Error("a document has begun on a full disk")
	}
	var notes []string
	s, err := Open(Options{JSON: "/dev/full", Note: func(n string) { notes = append(notes, n) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Report(ansi(1))
	s.Report(ansi(2))
	if err := s.Close(Summary{}); err == nil || len(notes) != 1 || notes[0] != "/dev/full is not written any more: write /dev/full: no space left on device" {
		t.Errorf("%v, notes %q", err, notes)
	}
}

func TestPrivateFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := CreatePrivate(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 || info.Size() != 0 {
		t.Errorf("%v, %d bytes, %v", info.Mode(), info.Size(), err)
	}
	if f, err := CreatePrivate("/dev/null"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
}

func TestFileThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may")
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{JSON: path}); err == nil {
		t.Error("opened")
	}
}
