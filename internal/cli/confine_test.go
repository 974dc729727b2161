package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/aegis-aar/aegis/confine"
)

func parseConfine(t *testing.T, args ...string) (confineFlags, error) {
	t.Helper()
	var f confineFlags
	cmd := &cobra.Command{Use: "start", SilenceErrors: true, SilenceUsage: true}
	f.register(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return f, f.check(cmd)
}

func TestConfineFlagsNeedConfine(t *testing.T) {
	const specified = "--allow-read, --allow-write, --allow-net, --allow-exec-support and --best-effort require --confine"
	const added = "--allow-exec, --allow-tmp, --env, --confine-kill, --confine-explain and --confine-report require --confine"
	for _, c := range []struct{ args, err string }{
		{"", ""},
		{"--confine", ""},
		{"--confine --allow-read a --allow-write b --allow-exec auto --env A --allow-tmp --best-effort --confine-kill --confine-explain --confine-report r", ""},
		{"--allow-read x", specified},
		{"--allow-write x", specified},
		{"--allow-net h:1", specified},
		{"--allow-exec-support", specified},
		{"--best-effort", specified},
		{"--allow-exec auto", added},
		{"--allow-tmp", added},
		{"--env A", added},
		{"--confine-kill", added},
		{"--confine-explain", added},
		{"--confine-report x", added},
		{"--confine --confine-report=", "--confine-report needs a FILE"},
		{"--confine --allow-net example.com", "--allow-net needs HOST:PORT, got `example.com`"},
		{"--confine --allow-net :443", "--allow-net needs a host, got `:443`"},
		{"--confine --allow-net example.com:65536", "--allow-net needs a port 0–65535, got `example.com:65536`"},
		{"--confine --allow-net example.com:-1", "--allow-net needs a port 0–65535, got `example.com:-1`"},
		{"--confine --allow-net ::1:443", ""},
	} {
		_, err := parseConfine(t, strings.Fields(c.args)...)
		switch _, usage := err.(usageError); {
		case err == nil && c.err != "":
			t.Errorf("%s: no error", c.args)
		case err != nil && (err.Error() != c.err || !usage):
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

func TestConfinePlan(t *testing.T) {
	argv := []string{os.Args[0]}
	if f, _ := parseConfine(t); true {
		if p, err := f.plan(argv); p != nil || err != nil {
			t.Errorf("without --confine: %v, %v", p, err)
		}
	}
	f, err := parseConfine(t, "--confine", "--allow-read", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.plan(argv)
	if runtime.GOOS != "linux" {
		if err == nil || !strings.Contains(err.Error(), "confinement needs Linux with Landlock and seccomp") {
			t.Errorf("elsewhere: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var text, asJSON bytes.Buffer
	if err := explained(&text, p, false); err != nil {
		t.Fatal(err)
	}
	if err := explained(&asJSON, p, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "(--allow-read)") || !strings.Contains(text.String(), p.Digest()) {
		t.Errorf("the plan reads\n%s", text.String())
	}
	var again confine.Plan
	if err := json.Unmarshal(asJSON.Bytes(), &again); err != nil || again.Digest() != p.Digest() {
		t.Errorf("the JSON is not the plan: %v\n%s", err, asJSON.String())
	}
}

func TestConfinePlanRefuses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("plans are made on Linux")
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	argv := []string{os.Args[0]}
	for _, c := range []struct {
		args  []string
		err   string
		usage bool
	}{
		{[]string{"--allow-exec", "none", "--allow-exec", "auto"}, "--allow-exec none stands alone", true},
		{[]string{"--allow-net", "example.com:443"}, "--allow-net is not available yet", false},
		{[]string{"--allow-read", dir + "/absent"}, "--allow-read " + dir + "/absent: no such file or directory", false},
		{[]string{"--allow-read", dir}, "the signing key " + key + " lies under ", false},
		{[]string{"--allow-write", dir}, "the signing key " + key + " lies under ", false},
		{[]string{"--allow-write", filepath.Dir(dir), "--confine-report", dir + "/r"}, "lies under ", false},
		{[]string{"--confine-report", dir + "/absent/r"}, "confinement report " + dir + "/absent/r: no such file or directory", false},
		{[]string{"--env", "AEGIS_NOT_SET"}, "--env AEGIS_NOT_SET: it is not set", true},
	} {
		f, err := parseConfine(t, append([]string{"--confine"}, c.args...)...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.plan(argv, confine.Protected{What: "the signing key", Path: key, Secret: true})
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		if _, usage := err.(usageError); usage != c.usage {
			t.Errorf("%v: a usage error: %v", c.args, usage)
		}
	}
}

func TestConfineReportFiles(t *testing.T) {
	dir := t.TempDir()
	f, err := parseConfine(t, "--confine", "--confine-report", dir+"/report.json")
	if err != nil {
		t.Fatal(err)
	}
	r := &confine.Report{
		LandlockABI: 7, LandlockFullyEnforced: true, SeccompApplied: true, SeccompNetworkDenied: true, Started: true, Level: confine.LevelFull, Plan: &confine.Plan{},
	}
	var notes bytes.Buffer
	if err := f.enforced(r, dir+"/session.jsonl", &notes, "aegis wrap"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(notes.String(), "aegis wrap: the server is confined (full") {
		t.Errorf("notes: %s", notes.String())
	}
	for _, name := range []string{"session.jsonl.enforced.json", "report.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(string(text), `{"landlock_abi":7,"landlock_fully_enforced":true,"seccomp_applied":true,"seccomp_network_denied":true,`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if info, err := os.Stat(dir + "/report.json"); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// What is no file is not made one.
	if err := r.WriteFile(os.DevNull); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is a file now: %v", os.DevNull, err)
	}
	if left, err := filepath.Glob(dir + "/*.json.*"); err != nil || len(left) > 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := f.enforced(r, dir+"/absent/session.jsonl", &notes, ""); err == nil {
		t.Error("a report that cannot be written is no error")
	}
}
