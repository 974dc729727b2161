package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Recording is a record file that is about to be written, with its key.
type Recording struct {
	Path   string // the record
	Key    string // the key file
	Public string // the public key, in hex
	KeyID  string // its fingerprint
}

// NewRecording makes a key with `aegis keygen` and picks a path for a record in dir.
func NewRecording(t testing.TB, dir string) *Recording {
	t.Helper()
	r := &Recording{Path: filepath.Join(dir, "record.aarl"), Key: filepath.Join(dir, "signing.key")}
	out, err := exec.Command(Binary(t, Aegis), "keygen", "--out", r.Key).Output()
	if err != nil {
		t.Fatalf("keygen: %v", err)
	}
	if _, err := fmt.Sscanf(string(out), "public_key %s\nkey_id %s\n", &r.Public, &r.KeyID); err != nil {
		t.Fatalf("keygen printed %q", out)
	}
	return r
}

// Beside is a recording with the same key whose record is another file in dir.
func (r *Recording) Beside(dir string) *Recording {
	other := *r
	other.Path = filepath.Join(dir, "record.aarl")
	return &other
}

// Wrap is the command line that puts a server on record.
func (r *Recording) Wrap(t testing.TB, server ...string) []string {
	t.Helper()
	return append([]string{Binary(t, Aegis), "wrap", "--audit", r.Path, "--signing-key", r.Key, "--"}, server...)
}

// Exists tells whether the record file is there.
func (r *Recording) Exists() bool {
	_, err := os.Stat(r.Path)
	return err == nil
}

// Verdict is what `aegis verify` said.
type Verdict struct {
	Exit           int
	Stdout, Stderr string
}

// Verify runs `aegis verify`, pinned to the recording's key.
func (r *Recording) Verify(t testing.TB) Verdict {
	t.Helper()
	cmd := exec.Command(Binary(t, Aegis), "verify", "--key", r.Public, r.Path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			t.Fatalf("verify: %v", err)
		}
	}
	NoRace(t, stderr.String())
	return Verdict{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// MustVerify fails the test unless the record is Verified under the pinned key.
func (r *Recording) MustVerify(t testing.TB) Verdict {
	t.Helper()
	v := r.Verify(t)
	if v.Exit != 0 || !strings.HasPrefix(v.Stdout, "Verified (pinned to "+r.KeyID+")\n") {
		t.Errorf("verify: exit %d\n%s%s", v.Exit, v.Stdout, v.Stderr)
	}
	return v
}
