package aar_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

// smallDisk mounts a file system of 64 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a full disk needs a file system of its own, and mounting one failed: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// fill leaves free bytes, rounded to pages, of the disk.
func fill(t *testing.T, dir string, free int) (ballast string) {
	t.Helper()
	ballast = filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	info, err := f.Stat()
	must(t, err)
	must(t, f.Truncate(info.Size()-int64(free)))
	return ballast
}

// On a full disk the file ends with a whole line, always: what was written of
// a line that found no room is cut off.
func TestFullDiskFileSinkConforms(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "record.aarl")
	sink, err := aar.OpenFile(path)
	must(t, err)
	defer sink.Close()
	first := []byte("{\"line\":1}\n")
	must(t, sink.Append(first))
	fill(t, dir, 8192)
	// A write that ends in the page after the last free one is a short write.
	if err := sink.Append(bytes.Repeat([]byte{'x'}, 20_000)); !errors.Is(err, unix.ENOSPC) || errors.Is(err, aar.ErrPoisoned) {
		t.Errorf("Append on a full disk: %v", err)
	}
	if got := read(t, path); !bytes.Equal(got, first) {
		t.Errorf("%d bytes are left", len(got))
	}
	must(t, sink.Append(first))
	if got := read(t, path); !bytes.Equal(got, append(first, first...)) {
		t.Errorf("the next line stands wrong: %.100q", got)
	}
}

// A full disk refuses calls, with its own error, and the Session resumes when
// there is room again. The record says that lines are missing; it does not say
// that somebody removed them.
func TestFullDiskSession(t *testing.T) {
	dir := smallDisk(t)
	path := filepath.Join(dir, "record.aarl")
	sink, err := aar.OpenFile(path)
	must(t, err)
	w, err := aar.NewWriter(sink, sinktest.Key())
	must(t, err)
	open := mustBegin(t, w)
	must(t, open.Durable())
	ballast := fill(t, dir, 4096)

	long := aar.Unevaluated(policySet)
	long.Policy.Reason = strings.Repeat("x", 9000)
	if err := open.End(long); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("End on a full disk: %v", err)
	}
	refused := 0
	for range 3 {
		// The outcome that found no room goes first, so that nothing else fits either.
		if _, err := w.Begin("echo", request, aar.Unevaluated(policySet)); errors.Is(err, unix.ENOSPC) {
			refused++
		} else {
			t.Errorf("Begin on a full disk: %v", err)
		}
	}
	report := verify(t, read(t, path))
	if report.Verdict != aar.Indeterminate || !report.OpenTailOnly() {
		t.Errorf("while full: %s", report.Headline())
	}

	must(t, os.Remove(ballast))
	resumed := mustBegin(t, w)
	must(t, resumed.Durable())
	must(t, resumed.End(succeeded()))
	must(t, w.Close(aar.Close{}))
	file := read(t, path)
	// seq 2 was the outcome's, then three times it and an intent.
	wantHeadline(t, file, "Indeterminate: session 0 skips seq 2..9 with the chain intact; a write did not land")
	if got := kinds(t, file); got != "OIRIRC" {
		t.Errorf("lines %s", got)
	}
	if got := outcomes(t, file)[0]; got.CallID != open.ID() || len(got.Policy.Reason) != 9000 {
		t.Errorf("the outcome that waited: %+v", got)
	}
}
