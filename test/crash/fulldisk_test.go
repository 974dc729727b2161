//go:build linux

package crash

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// A disk that is full takes no intent, so that no call passes; when there is
// room again, calls pass again. The record tells what it lacks, and no more.
func TestFullDisk(t *testing.T) {
	rec := harness.NewRecording(t, t.TempDir()).Beside(smallDisk(t))
	argv := rec.Wrap(t, harness.Binary(t, harness.Aegis), "__demo-server")
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	answers := bufio.NewReader(stdout)
	id := 0
	call := func() string {
		t.Helper()
		id++
		_, err := fmt.Fprintf(stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_note"}}`+"\n", id)
		must(t, err)
		answer, err := answers.ReadString('\n')
		must(t, err)
		return answer
	}
	passes := func(answer string) bool { return strings.Contains(answer, "Buy milk.") }

	if answer := call(); !passes(answer) {
		t.Fatalf("with room: %s", answer)
	}
	ballast := fillUp(t, filepath.Dir(rec.Path))
	refused := false
	for range 10 { // what is left of the record's last page takes some lines more
		if refused = strings.Contains(call(), `"code":"AUDIT_ERROR"`); refused {
			break
		}
	}
	if !refused {
		t.Error("no call was refused on a full disk")
	}
	must(t, os.Remove(ballast))
	if answer := call(); !passes(answer) {
		t.Errorf("with room again: %s", answer)
	}
	must(t, stdin.Close())
	_, err = io.Copy(io.Discard, answers)
	must(t, err)
	must(t, cmd.Wait())

	if v := rec.Verify(t); v.Exit != 3 || !strings.Contains(v.Stdout, "a write did not land") {
		t.Errorf("verify: exit %d: %s%s", v.Exit, v.Stdout, v.Stderr)
	}
	if !strings.Contains(stderr.String(), "refused a call: it cannot be put on record: no space left on device") {
		t.Errorf("stderr: %s", &stderr)
	}
}

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

// fillUp takes all the room there is and returns the file that does.
func fillUp(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
