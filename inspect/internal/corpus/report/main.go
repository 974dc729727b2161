// Command report prints what the corpora say of the catalog: precision and
// recall a rule on the labelled ones, and blocks per MiB on other people's text,
// each of them listed.
//
//	go run ./inspect/internal/corpus/report [DIR ...]
//
// Without arguments other people's text is Go's own source tree and
// documentation, the manual pages and documents of the machine, and the
// packages and lock files of the interoperability tests, where they are.
package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/inspect/internal/corpus"
)

func main() {
	if err := report(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func report(dirs []string) error {
	c, err := inspect.New(inspect.Options{})
	if err != nil {
		return err
	}
	if err := labelled(c); err != nil {
		return err
	}
	if len(dirs) == 0 {
		dirs = foreign()
	}
	others(c, dirs)
	return nil
}

// score counts a rule's findings on the labelled corpora.
type score struct{ found, missed, wrong int }

// labelled prints precision and recall. Notes do not count: they never act.
func labelled(c *inspect.Catalog) error {
	good, err := corpus.Benign()
	if err != nil {
		return err
	}
	const fresh = 200 // of each sample that holds a credential
	bad, err := corpus.Malicious(1, fresh)
	if err != nil {
		return err
	}
	scores := map[string]*score{}
	at := func(rule string) *score {
		if scores[rule] == nil {
			scores[rule] = new(score)
		}
		return scores[rule]
	}
	for _, s := range append(good, bad...) {
		found := map[string]bool{}
		for _, f := range c.Inspect(corpus.Frame([]byte(s.Text)), inspect.Declaration{}, inspect.Posture{}).Findings {
			if f.Tier != inspect.TierNote {
				found[f.RuleID] = true
			}
		}
		for rule := range found {
			if slices.Contains(s.Rules, rule) {
				at(rule).found++
			} else {
				at(rule).wrong++
				fmt.Printf("wrong   %-26s %s\n", rule, s.Name)
			}
		}
		for _, rule := range s.Rules {
			if !found[rule] {
				at(rule).missed++
				fmt.Printf("missed  %-26s %s\n", rule, s.Name)
			}
		}
	}
	fmt.Printf("%d benign and %d malicious texts\n%-26s %9s %9s %9s\n", len(good), len(bad), "rule", "precision", "recall", "positives")
	for _, r := range inspect.Rules() {
		if s := scores[r.ID]; s != nil {
			fmt.Printf("%-26s %9.4f %9.4f %9d\n", r.ID, ratio(s.found, s.wrong), ratio(s.found, s.missed), s.found+s.missed)
		}
	}
	return nil
}

func ratio(a, b int) float64 {
	if a+b == 0 {
		return 1
	}
	return float64(a) / float64(a+b)
}

// foreign returns the folders of other people's text there are.
func foreign() []string {
	var out []string
	if root, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		goroot := strings.TrimSpace(string(root))
		out = append(out, filepath.Join(goroot, "src"), filepath.Join(goroot, "doc"))
	}
	return append(out, "/usr/share/man", "/usr/share/doc", "test/interop/node_modules", "test/interop/package-lock.json")
}

//go:embed reviewed.txt
var reviewed string

// others prints the blocks on the text below dirs. Those that reviewed.txt lists
// are right: the text holds what the rule is for.
func others(c *inspect.Catalog, dirs []string) {
	right := map[string]string{}
	for _, line := range strings.Split(reviewed, "\n") {
		if name, why, ok := strings.Cut(line, "\t"); ok {
			right[name] = why
		}
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	var bytes, files, wrong, fair int
	for _, dir := range dirs {
		n, k, blocks := 0, 0, 0
		corpus.Texts(dir, func(path string, text []byte) {
			n += len(text)
			k++
			r := c.Inspect(corpus.Frame(text), inspect.Declaration{}, inspect.Posture{})
			if r.Block == nil {
				return
			}
			blocks++
			why, ok := right[tail(path)]
			if ok {
				fair++
			} else {
				wrong++
				why = "wrong"
			}
			fmt.Fprintf(out, "block   %-20s %-20s %s: %s\n", strings.TrimPrefix(r.Block.RuleID, "WRD-RES-"), r.Block.SubRule, path, why)
		})
		fmt.Fprintf(out, "%s: %d files, %.1f MiB, %d blocks\n", dir, k, mib(n), blocks)
		bytes += n
		files += k
	}
	if bytes > 0 {
		fmt.Fprintf(out, "in all: %d files, %.1f MiB; %.3f blocks per MiB, of which %.3f wrong (%d) and %.3f reviewed and right (%d)\n",
			files, mib(bytes), float64(wrong+fair)/mib(bytes), float64(wrong)/mib(bytes), wrong, float64(fair)/mib(bytes), fair)
	}
}

// tail is the last three elements of a path, by which reviewed.txt names files.
func tail(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return strings.Join(parts[max(0, len(parts)-3):], "/")
}

func mib(n int) float64 { return float64(n) / (1 << 20) }
