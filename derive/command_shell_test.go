//go:build unix

package derive

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shellRun is one line as a shell read it: the words of every command it ran.
type shellRun [][]string

// runInShell evaluates every line in a shell of its own, where the only command
// that can be found is one that prints, and in an empty directory.
func runInShell(t *testing.T, shell string, lines []string) []shellRun {
	t.Helper()
	// Descriptor 9 sees the commands inside substitutions and pipes as well. It
	// is a file for each line, since what runs in the background may come late.
	const script = `
exec >/dev/null 2>&1 </dev/null
show() { printf RUN >&9; printf '%s\0' "$@" >&9; }
n=0
for line in "$@"; do
	( exec 9>"$OUT/$n"; eval "$line"; wait )
	n=$((n+1))
done`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, append([]string{"-c", script, shell}, lines...)...)
	out, bin := t.TempDir(), t.TempDir()
	if printf, err := exec.LookPath("printf"); err == nil { // not every shell has its own
		if err := os.Symlink(printf, filepath.Join(bin, "printf")); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + bin, "HOME=" + cmd.Dir, "OUT=" + out, "LC_ALL=C.UTF-8", "x=expanded value", "IFS= \t\n"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", shell, err)
	}
	// What still runs in the background must not outlive the directories.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	all := make([]shellRun, len(lines))
	for i := range lines {
		runs, err := os.ReadFile(filepath.Join(out, strconv.Itoa(i)))
		if err != nil {
			t.Fatalf("%s did not come to line %d, %q: %v", shell, i, lines[i], err)
		}
		for _, one := range bytes.Split(runs, []byte("RUN"))[1:] {
			words := strings.Split(string(one), "\x00")
			all[i] = append(all[i], words[:len(words)-1])
		}
	}
	return all
}

func shells(t *testing.T) []string {
	var found []string
	for _, name := range []string{"bash", "dash", "sh", "zsh", "ksh", "mksh"} {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if file, err = filepath.EvalSymlinks(file); err == nil && !slices.Contains(found, file) {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		t.Skip("no shell to compare with")
	}
	return found
}

// nastyLines are made of what shells give a meaning to. They begin with the
// command that prints, so that it is seen to run.
func nastyLines(n int) []string {
	alphabet := []string{
		" ", " ", " ", "a", "b", "show", " show ", "'", "'", `"`, `"`, `\`, `\`, "\n", "\t", "$x", "$", "`", "$(show c)", "`show d`",
		";", "&", "|", "&&", "||", "(", ")", "{", "}", "<", ">", "*", "?", "[", "]", "~", "!", "^", "#", "=", "%", ":", "@", ",", "+", "-",
		"{a,b}", "$'\\n'", "é", "\u00a0", "\u200d", "if ", "then ", "fi", "time ", "x=1 ", "''", `""=`, "''~", `""`, "\\\n", "\r", "\x01", "\x7f", "2>&1", "<<<", "..",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, n)
	for i := range lines {
		var b strings.Builder
		if rnd.IntN(8) > 0 {
			b.WriteString("show ")
		}
		// Half of the lines keep to what is lawful often enough to be accepted.
		harmless := rnd.IntN(2) == 0
		for range 1 + rnd.IntN(10) {
			if harmless {
				b.WriteString(alphabet[rnd.IntN(18)])
			} else {
				b.WriteString(alphabet[rnd.IntN(len(alphabet))])
			}
		}
		lines[i] = b.String()
	}
	return lines
}

// The differential oracle: what is accepted has the words every shell gives it
// and runs once; what any shell runs more than once is refused.
func TestShellsReadTheSameWords(t *testing.T) {
	t.Parallel()
	lines := nastyLines(1500)
	for _, shell := range shells(t) {
		accepted, several := 0, 0
		for chunk := range slices.Chunk(lines, 500) {
			for i, run := range runInShell(t, shell, chunk) {
				line := chunk[i]
				c := ReadCommand(line)
				refused := c.Metachar || c.Fault != ""
				if len(run) > 1 {
					several++
					if !refused {
						t.Errorf("%s runs %q of %q, which is accepted as %q", shell, run, line, c.Words)
					}
				}
				if refused || c.Words[0] != "show" {
					continue
				}
				accepted++
				words := c.Words[1:]
				if len(words) == 0 {
					words = []string{""} // printf prints one empty word for none
				}
				if len(run) != 1 || !slices.Equal(run[0], words) {
					t.Errorf("%s reads %q as %q, not %q", shell, line, run, words)
				}
			}
		}
		if accepted < len(lines)/20 || several < len(lines)/100 {
			t.Errorf("%s: of %d lines only %d accepted, %d ran several commands", shell, len(lines), accepted, several)
		}
		t.Logf("%s: %d accepted, %d ran several commands", shell, accepted, several)
	}
}

// The same through -c, as a server would do it, for lines with a meaning.
func TestShellsRunAcceptedLinesOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	show := "#!/bin/sh\nprintf '%s\\0' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "show"), []byte(show), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, shell := range shells(t) {
		for _, line := range []string{
			"show -la /srv\n",
			"show -m \"line one\nreboot later\"",
			"show \\\n -l",
			`s'ho'w a\ b "c\"d" e"f"'g'\h`,
			`show --x=y a=b c%d e#f g~ h] 'a;b' "a|b" \$x \*`,
			"\n show \u00e9 '\u00a0' \n\n",
		} {
			c := ReadCommand(line)
			if c.Metachar || c.Fault != "" || c.Words[0] != "show" {
				t.Fatalf("%q: %+v", line, c)
			}
			cmd := exec.CommandContext(t.Context(), shell, "-c", line)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir, "LC_ALL=C.UTF-8"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s -c %q: %v", shell, line, err)
			}
			if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, c.Words[1:]) {
				t.Errorf("%s -c %q: %q, not %q", shell, line, got, c.Words[1:])
			}
		}
	}
}
