package lock

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// referenceServer is the path of a server that test/interop/install installs.
func referenceServer(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs("../test/interop/node_modules/@modelcontextprotocol/server-" + name + "/dist/index.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("the reference servers are not installed; run test/interop/install")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node")
	}
	return path
}

// pinThenCheck pins a server once and compares it three times.
func pinThenCheck(t *testing.T, capture func() (*Surface, error)) {
	t.Helper()
	for _, level := range []int{Level3, Level4} {
		s, err := capture()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Tools) == 0 {
			t.Fatal("no tools")
		}
		pinned, err := Parse(pin(t, s, level).Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s, err := capture()
			if err != nil {
				t.Fatal(err)
			}
			if d := Compare(pinned, pin(t, s, level)); len(d) > 0 {
				t.Fatalf("schema %d: %v", level, d)
			}
		}
	}
}

func TestReferenceServers(t *testing.T) {
	for _, name := range []string{"everything", "filesystem", "memory"} {
		t.Run(name, func(t *testing.T) {
			argv := []string{"node", referenceServer(t, name)}
			if name == "filesystem" {
				argv = append(argv, t.TempDir())
			}
			pinThenCheck(t, func() (*Surface, error) {
				return CaptureStdio(context.Background(), argv, CaptureOptions{Timeout: limit})
			})
		})
	}
}

func TestReferenceServerOverHTTP(t *testing.T) {
	path := referenceServer(t, "everything")
	// A port that is free now; the server cannot be given a listener.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command("node", path, "streamableHttp")
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
	}
	go func() { // until it is killed: it says something of every request
		for lines.Scan() {
		}
	}()
	pinThenCheck(t, func() (*Surface, error) {
		return CaptureHTTP(context.Background(), "http://127.0.0.1:"+strconv.Itoa(port)+"/mcp", CaptureOptions{Timeout: limit})
	})
}
