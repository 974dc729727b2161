package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

func FuzzRead(f *testing.F) {
	for _, s := range statements {
		f.Add(s)
	}
	for line := range strings.SplitSeq(queries, "\n") {
		f.Add(line)
	}
	f.Add(`SELECT E'\'', "a" -- x` + "\n" + `; DROP TABLE t`)
	f.Add("SELECT $a$ ; $a$ /* /* */ ; */ [a]]; `b` #x")
	f.Add("SELECT 1 /*! INTO OUTFILE 'x' */")
	f.Fuzz(func(t *testing.T, text string) {
		kinds := sql.Kinds()
		for _, d := range everyDialect {
			r := sql.Read(text, d)
			if len(r.Kinds) == 0 {
				t.Fatalf("%s: no kinds", d)
			}
			if (r.Fault != "") != slices.Contains(r.Kinds, sql.Unknown) {
				t.Fatalf("%s: fault %q, kinds %q", d, r.Fault, r.Kinds)
			}
			seen := map[string]bool{}
			for _, k := range r.Kinds {
				if seen[k] || !slices.Contains(kinds, k) {
					t.Fatalf("%s: %q is twice in %q, or no kind", d, k, r.Kinds)
				}
				seen[k] = true
			}
			if !readOnly(r) {
				continue
			}
			// Without quotes, comments and separators in it, each text that is
			// read-only begins with a word of a short list.
			if !strings.ContainsAny(text, "'\"`[$-/#\\;\n") {
				first := strings.ToUpper(strings.TrimLeft(text, " \t\r("))
				if !slices.ContainsFunc([]string{"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESC", "EXPLAIN", "PRAGMA"},
					func(w string) bool { return strings.HasPrefix(first, w) }) {
					t.Fatalf("%s: %q is read-only", d, text)
				}
			}
			// What is behind it cannot hide: a newline ends a line comment.
			if with := sql.Read(text+"\n;\nDROP TABLE t", d); readOnly(with) {
				t.Fatalf("%s: %q is read-only with a DROP behind it", d, text)
			}
			if with := sql.Read("DROP TABLE t;"+text, d); readOnly(with) {
				t.Fatalf("%s: %q is read-only with a DROP before it", d, text)
			}
		}
	})
}
