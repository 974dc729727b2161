package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
	"pgregory.net/rapid"
)

// statements in tokens parted by blanks; none holds a character that dialects
// read differently.
var statements = []string{
	"SELECT a , count ( * ) FROM notes WHERE b = 'x' GROUP BY a ORDER BY 1 LIMIT 5",
	"WITH x AS ( SELECT 1 ) SELECT * FROM x",
	"WITH d AS ( DELETE FROM notes RETURNING * ) SELECT * FROM d",
	"WITH x AS ( SELECT 1 ) UPDATE notes SET a = 'y'",
	"SELECT * INTO copy1 FROM notes",
	"SELECT a FROM notes FOR UPDATE",
	"SELECT pg_catalog . set_config ( 'a' , 'b' , false )",
	"SELECT replace ( a , 'x' , 'y' ) FROM \"update\" AS u",
	"EXPLAIN SELECT 1",
	"EXPLAIN ( ANALYZE , BUFFERS ) UPDATE notes SET a = 1",
	"EXPLAIN QUERY PLAN SELECT a FROM notes",
	"PRAGMA table_info ( notes )",
	"PRAGMA journal_mode = off",
	"INSERT INTO notes VALUES ( 'a' ) ON CONFLICT ( a ) DO UPDATE SET a = 2",
	"DROP TABLE IF EXISTS notes",
	"SHOW TABLES",
	"DESCRIBE notes",
	"VALUES ( 1 ) , ( 'b' )",
	"COMMIT",
	"VACUUM INTO 'x'",
	"SELECT CASE WHEN a THEN 'b' ELSE 'c' END , sum ( a ) OVER ( ORDER BY b ) FROM notes n JOIN users u ON n . id = u . id",
}

func drawDialect(t *rapid.T) sql.Dialect { return rapid.SampledFrom(everyDialect).Draw(t, "dialect") }

func sameReading(a, b sql.Reading) bool {
	return slices.Equal(a.Kinds, b.Kinds) && a.Stacked == b.Stacked && a.Fault == b.Fault
}

// Case, white space and comments between tokens change nothing.
func TestBlanksAndCase(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, d := rapid.SampledFrom(statements).Draw(t, "statement"), drawDialect(t)
		blank := rapid.SampledFrom([]string{" ", "\t", "\n", "\r\n", "/**/", " /* ' \" ; DROP */ ", " -- it's; DROP TABLE t\n", "\n\n ", " /*\n-- */ "})
		var b strings.Builder
		for i, token := range strings.Fields(text) {
			if i > 0 || rapid.Bool().Draw(t, "front") {
				b.WriteString(blank.Draw(t, "blank"))
			}
			if token[0] != '\'' && token[0] != '"' && rapid.Bool().Draw(t, "upper") {
				token = strings.ToUpper(token)
			} else if token[0] != '\'' && token[0] != '"' {
				token = strings.ToLower(token)
			}
			b.WriteString(token)
		}
		b.WriteString(rapid.SampledFrom([]string{"", ";", " ; ; ", " -- end", "\n;/* end */\n"}).Draw(t, "end"))
		if got, want := sql.Read(b.String(), d), sql.Read(text, d); !sameReading(got, want) {
			t.Errorf("%s %q: %+v, but %q: %+v", d, b.String(), got, text, want)
		}
	})
}

// What a literal holds changes nothing.
func TestLiteralsAreData(t *testing.T) {
	t.Parallel()
	content := rapid.StringOfN(rapid.OneOf(rapid.RuneFrom([]rune("'\";-/*#$`[]()!, \n\taE")), rapid.Rune()), 0, 30, -1)
	word := rapid.SampledFrom([]string{"", "; DROP TABLE t", "DELETE FROM", "INTO OUTFILE", "pg_sleep(1)", "pragma_x", "/*!", "--", "\nGO\n", "set_config"})
	rapid.Check(t, func(t *rapid.T) {
		text, d := rapid.SampledFrom(statements).Draw(t, "statement"), drawDialect(t)
		literal := strings.Map(func(r rune) rune {
			if r == 0 || r == '\\' {
				return 'x'
			}
			return r
		}, content.Draw(t, "content")+word.Draw(t, "word")+content.Draw(t, "content"))
		quoted := "'" + strings.ReplaceAll(literal, "'", "''") + "'"
		with := strings.NewReplacer("'x'", quoted, "'a'", quoted, "'y'", quoted, "'b'", quoted, "'c'", quoted).Replace(text)
		if got, want := sql.Read(with, d), sql.Read(text, d); !sameReading(got, want) {
			t.Errorf("%s %q: %+v, want %+v", d, with, got, want)
		}
	})
}

// A second statement never goes unseen.
func TestSecondStatement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, second := rapid.SampledFrom(statements).Draw(t, "first"), rapid.SampledFrom(statements).Draw(t, "second")
		d := drawDialect(t)
		between := rapid.SampledFrom([]string{";", " ;\n", "/* x */;", " -- x\n;", ";;", "; -- x\n"}).Draw(t, "between")
		r := sql.Read(first+between+second, d)
		if !r.Stacked {
			t.Errorf("%s %q: %+v", d, first+between+second, r)
		}
		for _, k := range append(sql.Read(first, d).Kinds, sql.Read(second, d).Kinds...) {
			if !slices.Contains(r.Kinds, k) {
				t.Errorf("%s %q: the kinds %q miss %s", d, first+between+second, r.Kinds, k)
			}
		}
	})
}

// With no dialect set, nothing is allowed that some dialect would not be.
func TestUnsetIsStrictest(t *testing.T) {
	t.Parallel()
	token := rapid.SampledFrom(strings.Fields(strings.Join(statements, " ") +
		" ; ' \" ` [ ] -- # /* */ $$ $a$ \\ E'\\'' 'a\\' /*! @ : DELETE DROP TABLE EXEC GO 1 U&\"\\0061\" N'x'"))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(statements).Draw(t, "statement") + " " +
			strings.Join(rapid.SliceOfN(token, 0, 8).Draw(t, "more"), rapid.SampledFrom([]string{" ", "\n", ""}).Draw(t, "blank"))
		if !readOnly(sql.Read(text, sql.Any)) {
			return
		}
		for _, d := range sql.Dialects() {
			r := sql.Read(text, d)
			// To T-SQL, EXPLAIN and the like are names of procedures, and a text
			// that MySQL reads as beginning with a minus is no statement.
			if !readOnly(r) && !slices.Contains(r.Kinds, "EXECUTE") && !(d == sql.MySQL && strings.HasPrefix(text, "--")) {
				t.Errorf("%q is read-only with none set, but %s: %+v", text, d, r)
			}
		}
	})
}
