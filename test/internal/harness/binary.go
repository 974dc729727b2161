package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Packages of this module that tests run as programs.
const (
	Aegis       = "./cmd/aegis"
	Tap         = "./test/interop/tap"
	ModelServer = "./test/interop/modelserver"
	Hostile     = "./test/crash/hostile"
	Replay      = "./test/guard/replay"
)

var binaries struct {
	mu   sync.Mutex
	dir  string
	race bool
	once map[string]func() (string, error)
}

// Build says how [Binary] builds.
type Build bool

const (
	AsShipped Build = false       // without the race detector
	AsTests   Build = raceEnabled // with it, if the tests have it
)

// Main is the TestMain of a package that uses [Binary].
func Main(m *testing.M, build Build) {
	dir, err := os.MkdirTemp("", "aegis-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// A program with the race detector otherwise waits a second before it exits.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	binaries.dir, binaries.race = dir, bool(build)
	binaries.once = map[string]func() (string, error){}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Binary builds a package of this module, once, and returns the program's path.
func Binary(t testing.TB, pkg string) string {
	t.Helper()
	binaries.mu.Lock()
	build, ok := binaries.once[pkg]
	if !ok {
		build = sync.OnceValues(func() (string, error) { return buildBinary(pkg) })
		binaries.once[pkg] = build
	}
	binaries.mu.Unlock()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func buildBinary(pkg string) (string, error) {
	root, err := ModuleRoot()
	if err != nil {
		return "", err
	}
	out := filepath.Join(binaries.dir, filepath.Base(pkg)+exeSuffix())
	args := []string{"build", "-o", out}
	if binaries.race {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

func exeSuffix() string {
	if os.PathSeparator == '\\' {
		return ".exe"
	}
	return ""
}

// ModuleRoot is the directory of this module's go.mod.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
		dir = parent
	}
}

// NoRace fails the test if a program that ended with this stderr was built with
// the race detector and it found something.
func NoRace(t testing.TB, stderr string) {
	t.Helper()
	if strings.Contains(stderr, "WARNING: DATA RACE") {
		t.Errorf("a data race in the program under test:\n%s", stderr)
	}
}
