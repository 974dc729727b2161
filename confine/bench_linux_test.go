//go:build linux && (amd64 || arm64)

package confine

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkRestrict is what Landlock and seccomp cost of a confined start: the
// rules of a plan for a shell, the domain and the filter, on a thread of their own
// that ends with it.
func BenchmarkRestrict(b *testing.B) {
	if _, _, err := landlockVersion(); err != nil {
		b.Skip(err)
	}
	plan, err := New(Request{Argv: []string{"/bin/sh"}, Dir: "/", Environ: os.Environ(), Read: []string{b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	p := profile{Grants: plan.Grants}
	for b.Loop() {
		done := make(chan string)
		go func() {
			runtime.LockOSThread() // and not unlocked: the thread ends
			err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			l := p.restrictFiles()
			done <- l.Fault + fault(errors.Join(err, installFilter(p.filter())))
		}()
		if fault := <-done; fault != "" {
			b.Fatal(fault)
		}
	}
	b.ReportMetric(float64(len(p.Grants)), "rules")
}
