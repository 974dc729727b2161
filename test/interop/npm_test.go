package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	lockFile      = "package-lock.json"
	installedFile = "node_modules/.package-lock.json" // npm's own note of what it installed
)

// needNPM fails the test if what package-lock.json pins is not installed, so
// that a run without the real servers cannot pass for one with them.
func needNPM(t *testing.T) {
	t.Helper()
	if os.Getenv("AEGIS_TEST_NPM") == "skip" {
		t.Skip("AEGIS_TEST_NPM=skip: the real servers and the TypeScript client are not run")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatalf("%v; install Node.js 20 or later, or set AEGIS_TEST_NPM=skip to go without", err)
	}
	if err := installed(); err != nil {
		t.Fatalf("%v; run `npm ci --prefix test/interop`, or set AEGIS_TEST_NPM=skip to go without", err)
	}
}

// installed tells whether the packages we ask for are there as they are pinned.
func installed() error {
	pinned, err := packagesOf(lockFile)
	if err != nil {
		return err
	}
	present, err := packagesOf(installedFile)
	if os.IsNotExist(err) {
		return fmt.Errorf("test/interop/node_modules is missing")
	}
	if err != nil {
		return err
	}
	for name := range pinned[""].Dependencies {
		at := "node_modules/" + name
		if _, err := os.Stat(filepath.FromSlash(at)); err != nil || present[at].Integrity != pinned[at].Integrity {
			return fmt.Errorf("test/interop/node_modules is stale: %s is not %s", name, pinned[at].Version)
		}
	}
	return nil
}

type npmPackage struct {
	Version, Integrity string
	Dependencies       map[string]string
}

// packagesOf reads the packages of a lock file, by their path.
func packagesOf(file string) (map[string]npmPackage, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lock struct{ Packages map[string]npmPackage }
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return lock.Packages, nil
}
