package aar_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
)

func TestLoadSigningKey(t *testing.T) {
	seed := strings.Repeat("51", 32)
	want := aar.NewSigningKey([32]byte([]byte(strings.Repeat("\x51", 32)))).ID()
	const notASeed = "signing key PATH is not a 64-character lowercase hex seed: "
	for _, tc := range []struct {
		name, file string
		mode       fs.FileMode
		want       string // the error; empty if the key is read
	}{
		{"a seed", seed, 0o600, ""},
		{"with LF", seed + "\n", 0o600, ""},
		{"with CRLF", seed + "\r\n", 0o600, ""},
		{"read-only", seed, 0o400, ""},

		{"empty", "", 0o600, notASeed + "expected 64 characters, found 0"},
		{"LF alone", "\n", 0o600, notASeed + "expected 64 characters, found 0"},
		{"too short", seed[1:], 0o600, notASeed + "expected 64 characters, found 63"},
		{"too long", seed + "0", 0o600, notASeed + "expected 64 characters, found 65"},
		{"twice", seed + seed + "\n", 0o600, notASeed + "expected 64 characters, found 128"},
		{"two line ends", seed + "\n\n", 0o600, notASeed + "expected lowercase hex, found '\\n'"},
		{"CR alone", seed + "\r", 0o600, notASeed + "expected lowercase hex, found '\\r'"},
		{"a space in front", " " + seed, 0o600, notASeed + "expected lowercase hex, found ' '"},
		{"upper case", strings.Repeat("AB", 32), 0o600, notASeed + "expected lowercase hex, found 'A'"},
		{"one upper case letter", seed[:63] + "F", 0o600, notASeed + "expected lowercase hex, found 'F'"},
		{"not hex", seed[:63] + "g", 0o600, notASeed + "expected lowercase hex, found 'g'"},
		{"not ASCII", seed[:60] + "\u00e9\u00e9", 0o600, notASeed + "expected lowercase hex, found '\u00e9'"},
		{"NUL bytes", string(make([]byte, 64)), 0o600, notASeed + "expected lowercase hex, found '\\x00'"},
		{"a PEM file", "-----BEGIN PRIVATE KEY-----\n", 0o600, notASeed + "expected lowercase hex, found '-'"},

		{"readable by the group", seed, 0o640, "signing key PATH is readable beyond its owner (mode 0640); chmod 600 it"},
		{"readable by all", seed, 0o644, "signing key PATH is readable beyond its owner (mode 0644); chmod 600 it"},
		{"writable by others", seed, 0o602, "signing key PATH is readable beyond its owner (mode 0602); chmod 600 it"},
		{"the mode is looked at first", "no key", 0o644, "signing key PATH is readable beyond its owner (mode 0644); chmod 600 it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && tc.mode&0o077 != 0 {
				t.Skip("there are no such modes on Windows")
			}
			path := filepath.Join(t.TempDir(), "key")
			must(t, os.WriteFile(path, []byte(tc.file), 0o600))
			must(t, os.Chmod(path, tc.mode))
			key, err := aar.LoadSigningKey(path)
			if tc.want == "" {
				must(t, err)
				if key.ID() != want {
					t.Errorf("key id %s, want %s", key.ID(), want)
				}
				return
			}
			if want := strings.ReplaceAll(tc.want, "PATH", path); key != nil || err == nil || err.Error() != want {
				t.Errorf("\n%v, want\n%s", err, want)
			}
			if err != nil && strings.Contains(err.Error(), seed[:16]) {
				t.Error("the error tells the key")
			}
		})
	}
}

func TestLoadSigningKeyThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	if _, err := aar.LoadSigningKey(missing); err == nil || err.Error() != "no signing key at "+missing+"; generate one with `aegis keygen --out "+missing+"`" {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	must(t, os.Chmod(dir, 0o700))
	if _, err := aar.LoadSigningKey(dir); err == nil || err.Error() != "signing key "+dir+": is a directory" {
		t.Error(err)
	}
	// What counts is the file that a link leads to.
	link, target := filepath.Join(dir, "link"), filepath.Join(dir, "target")
	must(t, os.WriteFile(target, []byte(strings.Repeat("51", 32)), 0o600))
	must(t, os.Chmod(target, 0o604))
	must(t, os.Symlink(target, link))
	if _, err := aar.LoadSigningKey(link); err == nil || err.Error() != "signing key "+link+" is readable beyond its owner (mode 0604); chmod 600 it" {
		t.Error(err)
	}
}

func TestGenerateSigningKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "here", "signing.key")
	first, err := aar.GenerateSigningKey(path, false)
	must(t, err)
	text := read(t, path)
	if len(text) != 65 || text[64] != '\n' {
		t.Errorf("a key file of %d bytes", len(text))
	}
	loaded, err := aar.LoadSigningKey(path)
	must(t, err)
	if loaded.ID() != first.ID() || loaded.Public() != first.Public() {
		t.Error("the file holds another key")
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			info, err := os.Stat(path)
			must(t, err)
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
		}
	}

	_, err = aar.GenerateSigningKey(path, false)
	if want := "signing key " + path + " already exists; refusing to overwrite it without --force"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if string(read(t, path)) != string(text) {
		t.Error("the key is another one now")
	}
	second, err := aar.GenerateSigningKey(path, true)
	must(t, err)
	loaded, err = aar.LoadSigningKey(path)
	must(t, err)
	if second.ID() == first.ID() || loaded.ID() != second.ID() {
		t.Error("--force did not replace the key")
	}

	for _, force := range []bool{false, true} {
		dir := filepath.Dir(path)
		if _, err := aar.GenerateSigningKey(dir, force); err == nil || err.Error() != "signing key "+dir+": is a directory" {
			t.Errorf("in place of a directory: %v", err)
		}
		below := filepath.Join(path, "key")
		if _, err := aar.GenerateSigningKey(below, force); err == nil || !strings.HasPrefix(err.Error(), "signing key "+below+": ") {
			t.Errorf("below a file: %v", err)
		}
	}
	// Nothing is left behind, whatever failed.
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("the directory holds %v", entries)
	}
}
