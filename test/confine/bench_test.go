//go:build linux

package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// BenchmarkStart is a start of /bin/true to its end, in pairs: direct, and confined
// under a plan that was made before. It reports medians, and what
// the quickest confined start took more than the quickest direct one, which says
// most on a busy machine.
func BenchmarkStart(b *testing.B) {
	needConfinement(b)
	const program = "/bin/true"
	aegis := harness.Binary(b, harness.Aegis)
	plan := newPlan(b, confine.Request{Argv: []string{program}})
	var direct, confined, added []time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := exec.Command(program).Run(); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		started(b, aegis, plan)
		direct = append(direct, between.Sub(begun))
		confined = append(confined, time.Since(between))
		added = append(added, confined[len(confined)-1]-direct[len(direct)-1])
	}
	for name, times := range map[string][]time.Duration{"direct": direct, "confined": confined, "added": added} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-ms")
	}
	b.ReportMetric(float64((confined[0]-direct[0]).Microseconds())/1000, "least-added-ms")
	b.ReportMetric(0, "ns/op") // a pair is no figure
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
