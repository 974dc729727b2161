//go:build linux

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/aegis-aar/aegis/confine"
	"github.com/aegis-aar/aegis/test/internal/harness"
)

// started starts a program confined by the aegis that ships, and waits for its end.
func started(b *testing.B, aegis string, p *confine.Plan) {
	cmd := &exec.Cmd{}
	launch, err := p.Prepare(cmd)
	if err != nil {
		b.Fatal(err)
	}
	defer launch.Close()
	cmd.Path = aegis
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := launch.Await(); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkStart is a start of /bin/true to its end: direct, and confined under a
// plan that was made before. The difference is what confinement adds.
func BenchmarkStart(b *testing.B) {
	needConfinement(b)
	const program = "/bin/true"
	aegis := harness.Binary(b, harness.Aegis)
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command(program).Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	plan := newPlan(b, confine.Request{Argv: []string{program}})
	b.Run("confined", func(b *testing.B) {
		for b.Loop() {
			started(b, aegis, plan)
		}
	})
	b.Run("aegis alone", func(b *testing.B) {
		// The Go program's own start-up, which a confined start holds.
		for b.Loop() {
			exec.Command(aegis, confine.HelperCommand, "--", program).Run() // ends at once: there is no profile
		}
	})
}

// BenchmarkClosure is the computation of a plan under --allow-exec auto.
func BenchmarkClosure(b *testing.B) {
	npm, _ := filepath.Abs("../interop/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
	for _, c := range []struct {
		name string
		argv []string
	}{
		{"cat", []string{"cat"}},
		{"node", []string{"node", npm}},
		{"python", []string{"/usr/bin/python3", "testdata/server.py"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			lookPath(b, c.argv[0])
			for b.Loop() {
				newPlan(b, confine.Request{Argv: c.argv})
			}
		})
	}
}

// BenchmarkOpen is open, read and close of a small file at depth 6, in a process
// of its own: outside, and inside with the file in a granted tree.
func BenchmarkOpen(b *testing.B) {
	needConfinement(b)
	deep := filepath.Join(realDir(b), "1/2/3/4/5")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		b.Fatal(err)
	}
	writeFile(b, deep+"/6", "text")
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	r := confine.Request{
		Argv: []string{self, "-test.run=^$", "-test.bench=^BenchmarkOpenHere$", "-test.benchtime=20000x"},
		Read: []string{filepath.Dir(filepath.Dir(deep))}, Write: []string{os.TempDir()}, Env: []string{"AEGIS_BENCH_FILE=" + deep + "/6"},
	}
	b.Run("outside", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command(self, r.Argv[1:]...)
			cmd.Env = append(os.Environ(), r.Env...)
			out, err := cmd.Output()
			if err != nil {
				b.Fatal(err)
			}
			reportOpen(b, string(out))
		}
	})
	b.Run("inside", func(b *testing.B) {
		plan := newPlan(b, r)
		for b.Loop() {
			e := run(b, plan, nil)
			if e.err != nil || e.code != 0 {
				b.Fatal(e)
			}
			reportOpen(b, e.stdout)
		}
	})
}

// reportOpen takes the figure over from the process that measured it.
func reportOpen(b *testing.B, out string) {
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 4 && strings.HasPrefix(fields[0], "BenchmarkOpenHere") {
			ns, err := strconv.ParseFloat(fields[2], 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(ns, "ns/open")
			return
		}
	}
	b.Fatalf("no figure in %s", out)
}

// BenchmarkOpenHere is what [BenchmarkOpen] has measured elsewhere.
func BenchmarkOpenHere(b *testing.B) {
	path := os.Getenv("AEGIS_BENCH_FILE")
	if path == "" {
		b.Skip("BenchmarkOpen runs it")
	}
	buf := make([]byte, 64)
	for b.Loop() {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := unix.Read(fd, buf); err != nil {
			b.Fatal(err)
		}
		unix.Close(fd)
	}
}
