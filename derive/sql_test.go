package derive

import (
	"slices"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

// allowedReadOnly is how a verdict is reached again from the record alone.
func allowedReadOnly(kinds []string, stacked bool) bool {
	return len(kinds) > 0 && !stacked && !slices.ContainsFunc(kinds, func(k string) bool { return !ReadOnlyKind(k) })
}

func TestReadQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, dialect string
		kinds         []string
		stacked       bool
		canonical     string
		fault         bool
	}{
		{"SELECT 1", "", []string{"SELECT"}, false, "", false},
		{"SELECT 1", "postgresql", []string{"SELECT"}, false, "postgres", false},
		{"SELECT 1; DROP TABLE t", "sqlite", []string{"SELECT", "DROP"}, true, "sqlite", false},
		{`SELECT 'a\'; DELETE FROM t; -- '`, "mysql", []string{"SELECT"}, false, "mysql", false},
		{`SELECT 'a\'; DELETE FROM t; -- '`, "", []string{"SELECT", "DELETE", "UNKNOWN"}, true, "", true},
		{"SELECT 1", "oracle", []string{"UNKNOWN"}, false, "", true},
		{"", "", []string{"UNKNOWN"}, false, "", true},
	} {
		q := ReadQuery(tt.text, tt.dialect)
		if !slices.Equal(q.Kinds, tt.kinds) || q.Stacked != tt.stacked || q.Dialect != tt.canonical || (q.Fault != "") != tt.fault {
			t.Errorf("%q %q: %+v", tt.dialect, tt.text, q)
		}
	}
}

// A rule that allows reading only, as users reported it to fail elsewhere. deny
// and allow hold in every dialect and with none set.
func TestReadOnlyByFirstWord(t *testing.T) {
	t.Parallel()
	testReadOnly(t, []string{
		"WITH d AS (DELETE FROM notes RETURNING *) SELECT * FROM d",
		"WITH x AS (SELECT 1) DELETE FROM notes",
		"EXPLAIN ANALYZE DELETE FROM notes",
		"EXPLAIN (ANALYZE, BUFFERS) UPDATE notes SET a=1",
		"SELECT * INTO copy1 FROM notes",
		"SELECT a FROM notes INTO OUTFILE '/tmp/o'",
		"/* x */ UPDATE notes SET a=1",
		"-- x\nDELETE FROM notes",
		"SELECT 1; DROP TABLE notes",
		"COMMIT; DROP TABLE notes",
		"(DELETE FROM notes)",
		"SELECT 1 FROM notes FOR UPDATE",
		"delete from notes",
		"\tDeLeTe\tFrOm\tnotes",
		"with d as (\n\tdelete from notes returning *\n) select * from d",
		"explain\tanalyze\tdelete from notes",
		"explain (verbose, analyze true) delete from notes",
		"select *\tinto\tcopy1 from notes",
		"select 1 from notes for\n/* x */ update",
	}, []string{
		"WITH x AS (SELECT 1) SELECT * FROM x",
		"SELECT 1;",
		"-- note\nSELECT 1",
		"\tsElEcT\t1",
	})
	// T-SQL has no EXPLAIN: the word is the name of a procedure.
	for _, dialect := range []string{"", "postgres", "mysql", "sqlite"} {
		if q := ReadQuery("EXPLAIN SELECT 1", dialect); !allowedReadOnly(q.Kinds, q.Stacked) {
			t.Errorf("%q: %+v", dialect, q)
		}
	}
}

func TestWordsInLiterals(t *testing.T) {
	t.Parallel()
	testReadOnly(t, []string{
		`SELECT E'\'', set_config('search_path','x',false)`,
		"SELECT $$a$$; DROP TABLE notes",
		"SELECT 'a",
		`SELECT "a`,
		"SELECT 1 /* a",
	}, []string{
		"SELECT 'please attach and drop by' AS note",
		"SELECT deleted_at, created_at FROM notes",
		"SELECT REPLACE(a,'x','y') FROM notes",
		"SELECT ';'",
		`SELECT "update" FROM notes`,
		"-- it's fine\nSELECT 1",
		"SELECT 'it''s; DROP'",
	})
	// Whether these are one statement or two is up to the dialect.
	for text, one := range map[string][]string{
		`SELECT 'a\'; DELETE FROM notes; -- '`:       {"mysql"},
		"SELECT 1 /* /* */ ; DROP TABLE notes -- */": {"postgres", "mssql"},
	} {
		for _, d := range append(sql.Dialects(), sql.Any) {
			q := ReadQuery(text, string(d))
			if allowed := allowedReadOnly(q.Kinds, q.Stacked); allowed != slices.Contains(one, string(d)) {
				t.Errorf("%q %q: %+v", d, text, q)
			}
			if d == sql.Any && q.Fault == "" {
				t.Errorf("%q: no reason is given", text)
			}
		}
	}
}

func testReadOnly(t *testing.T, deny, allow []string) {
	t.Helper()
	for _, d := range append(sql.Dialects(), sql.Any) {
		for _, text := range deny {
			if q := ReadQuery(text, string(d)); allowedReadOnly(q.Kinds, q.Stacked) {
				t.Errorf("%q allows %q: %+v", d, text, q)
			}
		}
		for _, text := range allow {
			if q := ReadQuery(text, string(d)); !allowedReadOnly(q.Kinds, q.Stacked) || q.Fault != "" {
				t.Errorf("%q denies %q: %+v", d, text, q)
			}
		}
	}
}

func FuzzReadQuery(f *testing.F) {
	f.Add("SELECT 1", "")
	f.Add(`SELECT E'\'' -- x`, "postgres")
	f.Add("WITH a AS (DELETE FROM t) SELECT 1; COMMIT", "mssql")
	f.Fuzz(func(t *testing.T, text, dialect string) {
		q := ReadQuery(text, dialect)
		if len(q.Kinds) == 0 || (q.Fault != "") != slices.Contains(q.Kinds, sql.Unknown) {
			t.Fatalf("%+v", q)
		}
		if q.Fault != "" && allowedReadOnly(q.Kinds, q.Stacked) {
			t.Fatalf("a fault is allowed: %+v", q)
		}
	})
}
