package aar

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// LoadSigningKey reads the key file at path: 64 lowercase hex characters, the
// ed25519 seed, then at most one line end. On Unix a file that anyone but its
// owner may read or write is refused before it is read.
func LoadSigningKey(path string) (*SigningKey, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no signing key at %s; generate one with `aegis keygen --out %s`", path, path)
	}
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, unwrapPath(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, unwrapPath(err))
	}
	if info.IsDir() {
		return nil, fmt.Errorf("signing key %s: is a directory", path)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, fmt.Errorf("signing key %s is readable beyond its owner (mode %04o); chmod 600 it", path, mode)
	}
	// More than a key file can have, to say how long another one is.
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, unwrapPath(err))
	}
	seed, err := parseSeed(text)
	if err != nil {
		return nil, fmt.Errorf("signing key %s is not a 64-character lowercase hex seed: %w", path, err)
	}
	return NewSigningKey(seed), nil
}

func parseSeed(text []byte) (seed [ed25519.SeedSize]byte, err error) {
	n := len(text)
	if n > 0 && text[n-1] == '\n' {
		n--
		if n > 0 && text[n-1] == '\r' {
			n--
		}
	}
	for _, r := range string(text[:n]) {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return seed, fmt.Errorf("expected lowercase hex, found %q", r)
		}
	}
	if n != hex.EncodedLen(len(seed)) {
		return seed, fmt.Errorf("expected %d characters, found %d", hex.EncodedLen(len(seed)), n)
	}
	_, err = hex.Decode(seed[:], text[:n])
	return seed, err
}

// GenerateSigningKey makes a new key and writes its file at path, mode 0600,
// synced, with its parent directories. It refuses to replace a file unless
// force is set. The key appears under its name whole; a kill in between may
// leave an empty file there, which no command takes for a key.
func GenerateSigningKey(path string, force bool) (*SigningKey, error) {
	var seed [ed25519.SeedSize]byte
	rand.Read(seed[:]) // never fails (crypto/rand)
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator)) {
		return nil, fmt.Errorf("signing key %s: is a directory", path)
	}
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("signing key %s: is a directory", path)
	}
	tmp, err := os.CreateTemp(dir, ".aegis-key-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, unwrapPath(err))
	}
	defer os.Remove(tmp.Name())
	_, err = fmt.Fprintf(tmp, "%x\n", seed)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, err)
	}
	if !force {
		// Reserve the name first: no other process can slip in between.
		name, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("signing key %s already exists; refusing to overwrite it without --force", path)
		}
		if err != nil {
			return nil, fmt.Errorf("signing key %s: %w", path, unwrapPath(err))
		}
		name.Close()
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		if !force {
			os.Remove(path) // the reservation
		}
		return nil, fmt.Errorf("signing key %s: %w", path, err)
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, err)
	}
	return NewSigningKey(seed), nil
}

// unwrapPath drops the operation and the path that an *fs.PathError repeats.
func unwrapPath(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
