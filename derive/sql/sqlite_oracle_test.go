package sql_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

// The numbers of SQLite's authorizer actions that matter here.
const (
	actionPragma    = 19
	actionRead      = 20
	actionSelect    = 21
	actionFunction  = 31
	actionRecursive = 33
)

// prepared is what SQLite says of a text.
type prepared struct {
	Error     string   `json:"error"`
	Explained bool     `json:"explained"`
	Values    bool     `json:"values"` // begins with VALUES, which asks for nothing if all are constant
	Many      bool     `json:"many"`
	Actions   []action `json:"actions"`
}

type action struct {
	code          int
	first, second string
	hasSecond     bool
}

func (a *action) UnmarshalJSON(text []byte) error {
	var first, second *string
	if err := json.Unmarshal(text, &[]any{&a.code, &first, &second}); err != nil {
		return err
	}
	if first != nil {
		a.first = *first
	}
	if second != nil {
		a.second, a.hasSecond = *second, true
	}
	return nil
}

// reads says whether an action only reads, by SQLite's own manual.
func (a action) reads() bool {
	switch a.code {
	case actionRead, actionSelect, actionRecursive:
		return true
	case actionFunction:
		return !slices.Contains([]string{"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}, strings.ToLower(a.second))
	case actionPragma:
		name := strings.ToLower(a.first)
		if a.hasSecond {
			return slices.Contains([]string{"table_info", "table_xinfo", "index_info", "index_list", "foreign_key_list", "foreign_key_check",
				"integrity_check", "quick_check", "index_xinfo", "table_list", "database_list", "compile_options"}, name)
		}
		return !slices.Contains([]string{"wal_checkpoint", "optimize", "incremental_vacuum", "shrink_memory", "case_sensitive_like"}, name)
	}
	return false
}

// readsOnly says whether SQLite would only read. A statement that asks for no
// action at all, as VACUUM does, is none that reads.
func (p prepared) readsOnly() bool {
	if p.Many {
		return false
	}
	selects := false
	for _, a := range p.Actions {
		if p.Explained && a.code != actionPragma && a.code != actionFunction {
			continue // not run
		}
		if !a.reads() {
			return false
		}
		selects = selects || a.code == actionSelect || a.code == actionPragma
	}
	return selects || p.Explained || p.Values
}

// sqlite is a process that prepares texts for the length of a test.
func sqlite(t *testing.T) func(text string) prepared {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3, whose sqlite3 module is the oracle, is not installed")
	}
	cmd := exec.Command(python, "testdata/oracle/authorize.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("authorize.py: %v", err)
		}
	})
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	return func(text string) (p prepared) {
		t.Helper()
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(in, "%s\n", line); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() {
			t.Fatalf("no answer to %q: %v", text, answers.Err())
		}
		if err := json.Unmarshal(answers.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
}

func readOnly(r sql.Reading) bool {
	for _, k := range r.Kinds {
		if !sql.ReadOnly(k) {
			return false
		}
	}
	return !r.Stacked && r.Fault == ""
}

// TestSQLiteAgrees has SQLite prepare generated texts. What is read-only here
// must ask its authorizer for reads alone; and of the single statements that
// SQLite prepares and that only read, nearly all must be read-only here.
func TestSQLiteAgrees(t *testing.T) {
	t.Parallel()
	prepare := sqlite(t)
	texts := 8000
	if testing.Short() {
		texts = 1500
	}
	const seed = 25
	random := rand.New(rand.NewPCG(seed, 27))
	var understood, plain, plainAllowed, plainAny, harmful int
	refused := map[string]int{}
	for range texts {
		g := generator{Rand: random}
		text, mutated := g.text()
		p := prepare(text)
		r, unset := sql.Read(text, sql.SQLite), sql.Read(text, sql.Any)
		if p.Error == "" || p.Many || strings.Contains(p.Error, "authorized") || strings.Contains(p.Error, "prohibited") {
			understood++
			if !p.readsOnly() {
				harmful++
			}
			for _, r := range []sql.Reading{r, unset} {
				if readOnly(r) && !p.readsOnly() {
					t.Errorf("%q: read as %v, but SQLite: %+v", text, r.Kinds, p)
				}
			}
		}
		if p.Error == "" && p.readsOnly() && !mutated {
			plain++
			if readOnly(r) {
				plainAllowed++
			} else if refused[r.Fault]++; refused[r.Fault] <= 3 {
				t.Logf("refused: %q: %+v", text, r)
			}
			if readOnly(unset) {
				plainAny++
			}
		}
	}
	t.Logf("%d texts: SQLite understands %d, of which %d do more than read; of %d plain reads %d are allowed with the dialect set, %d without",
		texts, understood, harmful, plain, plainAllowed, plainAny)
	if harmful < texts/10 || plain < texts/10 {
		t.Errorf("the generator is lopsided: %d harmful, %d plain", harmful, plain)
	}
	if plainAllowed*1000 < plain*995 {
		t.Errorf("only %d of %d plain reads are allowed with the dialect set", plainAllowed, plain)
	}
	if plainAny*100 < plain*75 {
		t.Errorf("only %d of %d plain reads are allowed with no dialect set", plainAny, plain)
	}
}
