package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

func TestParseDialect(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]sql.Dialect{
		"": sql.Any, "postgres": sql.Postgres, "postgresql": sql.Postgres, "mysql": sql.MySQL, "mariadb": sql.MySQL,
		"sqlite": sql.SQLite, "sqlite3": sql.SQLite, "mssql": sql.MSSQL, "sqlserver": sql.MSSQL, "tsql": sql.MSSQL,
	} {
		if got, err := sql.ParseDialect(name); got != want || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	_, err := sql.ParseDialect("oracle")
	if err == nil {
		t.Fatal("oracle is a dialect")
	}
	for _, d := range sql.Dialects() {
		if !strings.Contains(err.Error(), string(d)) {
			t.Errorf("%v does not list %s", err, d)
		}
	}
	if r := sql.Read("SELECT 1", "oracle"); r.Fault == "" {
		t.Error("a dialect that is none has no fault")
	}
}

// What dialects read differently. Each line has the reading of postgres, mysql,
// sqlite and mssql in order: kinds, * for stacked, ! for a fault. With none set
// it is a fault exactly if these differ.
func TestDialectsDiffer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       [4]string
		agree      bool
	}{
		{"backslash in a literal", `SELECT 'a\'; DELETE FROM notes; -- '`, [4]string{"*SELECT DELETE", "SELECT", "*SELECT DELETE", "*SELECT DELETE"}, false},
		{"backslash before no quote", `SELECT 'C:\dir\d+' FROM t`, [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"two backslashes", `SELECT 'a\\' FROM t`, [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"backslash in double quotes", `SELECT "a\"; DROP TABLE t; -- "`, [4]string{"*SELECT DROP", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"escape literal", `SELECT E'\'', set_config('search_path','x',false)`, [4]string{"SELECT FUNCTION", "SELECT FUNCTION", "!", "!"}, false},
		{"escape literal hides", `SELECT E'\'; DROP TABLE t; --'`, [4]string{"SELECT", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"escape literal, harmless", `SELECT E'a\n' FROM t`, [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"escape literal goes on", "SELECT E'a'\n'\\'; DROP TABLE t; --'", [4]string{"!", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"LIKE with an escape", `SELECT a FROM t WHERE a LIKE '\_%' ESCAPE '\'`, [4]string{"SELECT", "!", "SELECT", "SELECT"}, false},
		{"dollar quotes", "SELECT $$a$$; DROP TABLE notes", [4]string{"*SELECT DROP", "*SELECT DROP", "*SELECT DROP", "*SELECT DROP"}, true},
		{"dollar quotes hide", "SELECT $$; DROP TABLE notes -- $$", [4]string{"SELECT", "*SELECT DROP", "*SELECT DROP", "*SELECT DROP"}, false},
		{"tagged dollar quotes", "SELECT $a$ $b$; DROP TABLE t $a$", [4]string{"SELECT", "*SELECT DROP", "*SELECT DROP", "*SELECT DROP"}, false},
		{"dollar quotes, harmless", "SELECT $$hello$$", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"dollar quotes without end", "SELECT $a$ x", [4]string{"!", "SELECT", "SELECT", "SELECT"}, false},
		{"dollar parameters", "SELECT $1, $2", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"dollar in a name", "SELECT a$$b FROM t; DROP TABLE t$$", [4]string{"*SELECT DROP", "*SELECT DROP", "*SELECT DROP", "*SELECT DROP"}, true},
		{"nested comment", "SELECT 1 /* /* */ ; DROP TABLE notes -- */", [4]string{"SELECT", "*SELECT DROP", "*SELECT DROP", "SELECT"}, false},
		{"nested comment, closed twice", "SELECT 1 /* /* */ */", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"executable comment", "SELECT 1 /*! INTO OUTFILE '/x' */", [4]string{"SELECT", "!", "SELECT", "SELECT"}, false},
		{"executable comment of MariaDB", "SELECT 1 /*M!100 ; DROP TABLE t */", [4]string{"SELECT", "!", "SELECT", "SELECT"}, false},
		{"hint that sets", "SELECT /*+ SET_VAR(sql_mode='') */ 1", [4]string{"SELECT", "!", "SELECT", "SELECT"}, false},
		{"hint", "SELECT /*+ INDEX(t i) */ 1 FROM t", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"dashes without blank", "SELECT 1 --1; DROP TABLE t", [4]string{"SELECT", "*SELECT DROP", "SELECT", "SELECT"}, false},
		{"dashes without blank, harmless", "SELECT a --the name\n FROM t", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"dashes without blank, in front", "--all users\nSELECT 1", [4]string{"SELECT", "!", "SELECT", "SELECT"}, true}, // no statement of MySQL begins with a minus
		{"dashes without blank, in front, stacked", "--a\nSELECT 1; DROP TABLE t", [4]string{"*SELECT DROP", "!", "*SELECT DROP", "*SELECT DROP"}, false},
		{"hash", "SELECT 1 # ; DROP TABLE t", [4]string{"*SELECT DROP", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"hash, harmless", "SELECT a #>> '{b}' FROM t", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"hash hides a quote", "SELECT a #>> '\n; DROP TABLE t -- '", [4]string{"SELECT", "*SELECT DROP", "SELECT", "SELECT"}, false},
		{"temporary table", "SELECT * FROM #t", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"brackets", "SELECT [a;b] FROM t", [4]string{"!", "!", "SELECT", "SELECT"}, false},
		{"brackets hide", "SELECT a['] ; DROP TABLE t -- ']", [4]string{"SELECT", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"doubled bracket", "SELECT [a]]; DROP TABLE t -- ]", [4]string{"*SELECT DROP", "*SELECT DROP", "*SELECT DROP", "SELECT"}, false},
		{"array index", "SELECT a[1], ARRAY['x','y'] FROM t", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"backticks", "SELECT `a` FROM `t` WHERE `b c` = 1", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"backticks hide", "SELECT `a; DROP TABLE t; -- `", [4]string{"*SELECT DROP", "SELECT", "SELECT", "*SELECT DROP"}, false},
		{"Unicode escapes in a name", `SELECT U&"\0073et_config"('a','b',false)`, [4]string{"!", "SELECT", "SELECT", "SELECT"}, false},
		{"Unicode escapes in a literal", `SELECT U&'d\0061t' FROM t`, [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"no separator", "SELECT 1 DROP TABLE t", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT DROP"}, false},
		{"no separator after a table", "SELECT * FROM t DELETE FROM t", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT DELETE"}, false},
		{"no separator after a star", "SELECT * UPDATE t SET a = 1", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT UPDATE"}, false},
		{"no separator after a quoted name", `SELECT 1 "x"EXEC xp_cmdshell 'dir'`, [4]string{"SELECT", "SELECT", "SELECT", "*SELECT EXECUTE"}, false},
		{"no separator after a parenthesis", "SELECT (1)SELECT 2", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT"}, false},
		{"no separator after a change", "UPDATE t SET a=1 DROP TABLE t", [4]string{"UPDATE", "UPDATE", "UPDATE", "*UPDATE DROP"}, false},
		{"no separator after a setting", "SET NOCOUNT ON DELETE FROM t", [4]string{"SET", "SET", "SET", "*SET DELETE"}, false},
		{"no separator after ALTER", "ALTER TABLE t ADD a INT DROP TABLE t", [4]string{"ALTER", "ALTER", "ALTER", "*ALTER DROP"}, false},
		{"no separator after a variable", "SELECT @ DROP TABLE t", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT DROP"}, false},
		{"variable named like a statement", "SELECT @drop, @ update", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT UPDATE"}, false},
		{"no separator before a trigger's switch", "SELECT 1 a DISABLE TRIGGER x ON y", [4]string{"SELECT", "SELECT", "SELECT", "*SELECT ALTER"}, false},
		{"explained change", "EXPLAIN DELETE FROM notes", [4]string{"EXPLAIN", "EXPLAIN", "EXPLAIN", "*EXECUTE DELETE"}, false},
		{"definition shown", "SHOW CREATE DATABASE d", [4]string{"SHOW", "SHOW", "SHOW", "*EXECUTE CREATE"}, false},
		{"batch line", "SELECT 1\nGO\nDROP TABLE t", [4]string{"SELECT", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"batch line with a count", "SELECT 1\n go 5 -- x\nDROP TABLE t", [4]string{"SELECT", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"batch line at the end", "SELECT 1\nGO", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
		{"slash line", "SELECT 1\n/\nDROP TABLE t", [4]string{"SELECT", "SELECT", "*SELECT DROP", "*SELECT DROP"}, false},
		{"sqlcmd", "SELECT 1\n:r x.sql", [4]string{"SELECT", "SELECT", "SELECT", "!"}, false},
		{"sqlcmd shell", "SELECT 1\n!!dir", [4]string{"SELECT", "SELECT", "SELECT", "!"}, false},
		{"cast on its own line", "SELECT a\n::text FROM t WHERE b =\n:b", [4]string{"SELECT", "SELECT", "SELECT", "SELECT"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i, d := range sql.Dialects() {
				r := sql.Read(tt.text, d)
				if tt.want[i] == "!" {
					if r.Fault == "" {
						t.Errorf("%s: %+v, want a fault", d, r)
					}
					continue
				}
				got := strings.Join(r.Kinds, " ")
				if r.Stacked {
					got = "*" + got
				}
				if got != tt.want[i] && !(tt.name == "slash line" && d == sql.MSSQL) || r.Fault != "" {
					t.Errorf("%s: %q %q, want %q", d, got, r.Fault, tt.want[i])
				}
			}
			r := sql.Read(tt.text, sql.Any)
			if (r.Fault == "") != tt.agree {
				t.Errorf("with none set: %+v", r)
			}
			if !tt.agree && !strings.HasSuffix(r.Fault, ": set dialect") {
				t.Errorf("the reason does not say what to do: %q", r.Fault)
			}
			// The kinds are those of all readings, for deny_statements.
			for _, d := range sql.Dialects() {
				for _, k := range sql.Read(tt.text, d).Kinds {
					if !tt.agree && !slices.Contains(r.Kinds, k) && k != "EXECUTE" {
						t.Errorf("with none set the kinds %q miss %s of %s", r.Kinds, k, d)
					}
				}
			}
		})
	}
}

// What no dialect understands, or no reader should.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":                        "",
		"blank":                        " \n\t",
		"only separators":              ";;",
		"only a comment":               "-- x",
		"only a block comment":         "/* x */ ;",
		"NUL":                          "SELECT 1\x00",
		"NUL in a literal":             "SELECT 'a\x00b'",
		"control character":            "SELECT\x0b1",
		"form feed":                    "SELECT\f1",
		"escape":                       "SELECT 1 \x1b",
		"DEL":                          "SELECT \x7f1",
		"not UTF-8":                    "SELECT '\xff'",
		"no-break space":               "SELECT\u00a01",
		"ideographic space":            "SELECT\u30001",
		"zero width space":             "sel\u200bect 1",
		"zero width joiner in a name":  "SELECT a\u200db",
		"byte order mark":              "\ufeffSELECT 1",
		"full width letters":           "\uff53\uff45\uff4c\uff45\uff43\uff54 1",
		"full width letter in a name":  "SELECT \uff44elete",
		"Kelvin sign":                  "SELECT loc\u212a",
		"long s":                       "\u017felect 1",
		"dotless i":                    "SELECT 1 \u0131nto t",
		"typographic quote":            "SELECT \u2018a\u2019",
		"line separator in a comment":  "SELECT 1 -- a\u2028; DROP TABLE t",
		"CR in a comment":              "SELECT 1 -- a\rDROP TABLE t",
		"literal without end":          "SELECT 'a",
		"literal without end, doubled": "SELECT 'a''",
		"name without end":             `SELECT "a`,
		"comment without end":          "SELECT 1 /* x",
		"comment without end, star":    "SELECT 1 /*/",
		"backslash":                    `SELECT 1 \g`,
		"psql copy":                    `\copy t TO 'x'`,
		"psql shell":                   `\! id`,
		"SQLite shell":                 ".shell id",
		"SQLite shell, second line":    "SELECT 1;\n.shell id",
		"sqlcmd variable":              "SELECT $(x)",
		"MySQL client":                 "source x.sql",
		"MySQL client's delimiter":     "DELIMITER //",
		"no keyword":                   "xyzzy",
		"name":                         "notes",
		"quoted name":                  `"SELECT" 1`,
		"number":                       "1",
		"label":                        "a: DELETE FROM t",
		"half a WITH":                  "WITH x AS (SELECT 1)",
		"WITH and no statement":        "WITH x AS (SELECT 1) DROP TABLE t",
		"WITH and a name":              "WITH x AS (SELECT 1) xyzzy",
		"EXPLAIN alone":                "EXPLAIN",
		"EXPLAIN of nothing known":     "EXPLAIN xyzzy a b c",
		"PRAGMA alone":                 "PRAGMA",
		"PRAGMA and more":              "PRAGMA table_info(a) b",
		"SELECT alone":                 "SELECT",
		"parenthesis open":             "SELECT (1",
		"parenthesis too many":         "SELECT 1)",
		"number into a name":           "SELECT 1FROM t",
		"number into INTO":             "SELECT 1INTO OUTFILE '/x'",
		"Oracle's quote":               "SELECT q'[a]' FROM t",
		"raw quote":                    "SELECT r'a' FROM t",
		"hexadecimal with a backslash": `SELECT x'4\'`,
		"bit literal with words":       "SELECT b'x y'",
		"UESCAPE":                      `SELECT U&"!0073et_config" UESCAPE '!' ('a','b',false)`,
		"procedure called like a word": "analyze.dbo.p 1",
		"statement cut by a dot":       "SELECT 1; x.y",
		"deep":                         "SELECT " + strings.Repeat("(", sql.MaxDepth+1) + "1" + strings.Repeat(")", sql.MaxDepth+1),
		"deep at the start":            strings.Repeat("(", sql.MaxDepth+1) + "SELECT 1" + strings.Repeat(")", sql.MaxDepth+1),
		"long":                         "SELECT '" + strings.Repeat("a", sql.MaxText) + "'",
	} {
		for _, d := range everyDialect {
			r := sql.Read(text, d)
			if strings.HasPrefix(name, "EXPLAIN") || strings.HasPrefix(name, "PRAGMA") {
				if d == sql.MSSQL {
					continue // a procedure
				}
			}
			if r.Fault == "" || !slices.Contains(r.Kinds, sql.Unknown) {
				t.Errorf("%s, %s: %.200v", name, d, r)
			}
		}
	}
	// At the limits there is none.
	for name, text := range map[string]string{
		"deep": "SELECT " + strings.Repeat("(", sql.MaxDepth) + "1" + strings.Repeat(")", sql.MaxDepth),
		"long": "SELECT '" + strings.Repeat("a", sql.MaxText-len("SELECT ''")) + "'",
	} {
		if r := sql.Read(text, sql.Any); r.Fault != "" {
			t.Errorf("%s: %s", name, r.Fault)
		}
	}
}
