package kernels

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// armed is set by `make test-kernels`: the directory that `install` filled.
const armed = "AEGIS_TEST_KERNELS"

// bootPatience bounds one machine, software emulation on a busy host included.
const bootPatience = 5 * time.Minute

// TestKernels boots each kernel and runs the suite's tests there.
func TestKernels(t *testing.T) {
	dir := os.Getenv(armed)
	if dir == "" {
		t.Skip("run by `make test-kernels`")
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("qemu-system-x86_64 is not installed")
	}
	image := buildImage(t)
	for _, k := range []struct {
		name, kernel, append string
		run                  string   // the suite's tests
		pass                 []string // what must have passed there, not only been skipped
	}{
		{"6.1", "vmlinuz-6.1", "", "TestOnACrippledKernel|TestEscape", []string{"TestOnACrippledKernel"}},
		{"6.1 without Landlock", "vmlinuz-6.1", "lsm=capability", "TestOnACrippledKernel|TestEscape", []string{"TestOnACrippledKernel"}},
		{"6.12", "vmlinuz-6.12", "lsm=landlock,capability", "TestEscape|TestKilledSocket|TestCrippledKernels", []string{"TestEscape", "TestKilledSocket", "TestCrippledKernels"}},
	} {
		t.Run(k.name, func(t *testing.T) {
			kernel := filepath.Join(dir, k.kernel)
			if _, err := os.Stat(kernel); err != nil {
				t.Skipf("%s could not be had", k.kernel)
			}
			out := boot(t, qemu, kernel, image, k.append, "-test.v", "-test.run=^("+k.run+")$")
			for _, name := range k.pass {
				if !strings.Contains(out, "--- PASS: "+name+" ") {
					t.Errorf("%s did not pass", name)
				}
			}
			if !strings.Contains(out, "guest: suite passed") || t.Failed() {
				t.Errorf("the suite did not pass:\n%s", out)
			}
			for _, line := range regexp.MustCompile(`(?m)^.*(Landlock ABI|skip|SKIP).*$`).FindAllString(out, -1) {
				t.Log(strings.TrimSpace(line))
			}
		})
	}
}

// buildImage packs the suite and its first process.
func buildImage(t *testing.T) string {
	t.Helper()
	root, err := harness.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var a initramfs
	for _, d := range []string{"bin", "dev", "etc", "proc", "root", "sys", "tmp"} {
		a.directory(d)
	}
	a.device("dev/console", 5, 1)
	a.entry("etc/shadow", 0o100600, []byte("root:*:1:0:99999:7:::\n"), 0, 0)
	for name, args := range map[string][]string{
		"init":  {"build", "-o", filepath.Join(dir, "init"), "./test/kernels/guest"},
		"suite": {"test", "-c", "-ldflags=-s -w", "-o", filepath.Join(dir, "suite"), "./test/confine"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		if err := a.program(name, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	image := filepath.Join(dir, "image")
	if err := a.write(image); err != nil {
		t.Fatal(err)
	}
	return image
}

// boot runs one machine until it switches itself off, and returns its console.
func boot(t *testing.T, qemu, kernel, image, extra string, suite ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), bootPatience)
	defer stop()
	cmd := exec.CommandContext(ctx, qemu, "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "1", "-nographic", "-no-reboot",
		"-kernel", kernel, "-initrd", image,
		"-append", "console=ttyS0 quiet panic=-1 "+extra+" -- "+strings.Join(suite, " "))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("qemu: %v", err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}
