package sql_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

var everyDialect = append([]sql.Dialect{sql.Any}, sql.Dialects()...)

// Each kind of statement, as every dialect reads it and as it is read with none
// set. A * before the kinds is for stacked.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		// reading
		{"SELECT 1", "SELECT"},
		{"select 1", "SELECT"},
		{"SeLeCt\t1", "SELECT"},
		{"SELECT 1;", "SELECT"},
		{"SELECT 1 ; ; -- done", "SELECT"},
		{"; SELECT 1", "SELECT"},
		{"(SELECT 1)", "SELECT"},
		{"((SELECT 1)) UNION (SELECT 2)", "SELECT"},
		{"VALUES (1), (2)", "VALUES"},
		{"TABLE notes", "TABLE"},
		{"WITH x AS (SELECT 1) SELECT * FROM x", "WITH SELECT"},
		{"WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT * FROM x", "WITH SELECT"},
		{"WITH x AS (SELECT 1), y(a) AS NOT MATERIALIZED (SELECT 2) (SELECT * FROM y)", "WITH SELECT"},
		{"WITH x AS (WITH y AS (SELECT 1) SELECT * FROM y) TABLE x", "WITH TABLE"},
		{"WITH x AS (SELECT 1 AS a) SEARCH DEPTH FIRST BY a AS b SELECT * FROM x", "WITH SELECT"},
		{"SHOW TABLES", "?SHOW"},
		{"SHOW CREATE TABLE notes", "?SHOW"},
		{"DESCRIBE notes", "?DESCRIBE"},
		{"DESC main.notes", "?DESCRIBE"},
		{"EXPLAIN notes", "?DESCRIBE"},
		{"EXPLAIN SELECT 1", "?EXPLAIN"},
		{"EXPLAIN QUERY PLAN SELECT 1", "?EXPLAIN"},
		{"EXPLAIN (FORMAT JSON) SELECT 1", "?EXPLAIN"},
		{"EXPLAIN FORMAT=JSON SELECT 1", "?EXPLAIN"},
		{"EXPLAIN (SELECT 1)", "?EXPLAIN"},
		{"EXPLAIN (ANALYZE false) SELECT 1", "?EXPLAIN"},
		{"EXPLAIN ANALYZE SELECT 1", "?EXPLAIN ANALYZE,SELECT"},
		{"EXPLAIN ANALYZE WITH x AS (SELECT 1) SELECT * FROM x", "?EXPLAIN ANALYZE,WITH SELECT"},
		{"PRAGMA table_info(notes)", "?PRAGMA"},
		{"PRAGMA main.table_info('notes')", "?PRAGMA"},
		{"PRAGMA journal_mode", "?PRAGMA"},
		{"PRAGMA user_version;", "?PRAGMA"},
		{"SELECT * FROM pragma_table_info('notes')", "SELECT"},

		// a query that does more
		{"WITH d AS (DELETE FROM notes RETURNING *) SELECT * FROM d", "WITH SELECT DELETE"},
		{"WITH u AS (UPDATE notes SET a=1 RETURNING *), i AS (INSERT INTO notes VALUES (1) RETURNING *) SELECT 1", "WITH SELECT UPDATE INSERT"},
		{"SELECT * FROM (DELETE FROM notes OUTPUT deleted.*) AS d", "SELECT DELETE"},
		{"WITH x AS (SELECT 1) DELETE FROM notes", "WITH DELETE"},
		{"WITH x AS (SELECT 1) INSERT INTO notes SELECT * FROM x", "WITH INSERT"},
		{"WITH x AS (SELECT 1) UPDATE notes SET a=1", "WITH UPDATE"},
		{"WITH x AS (SELECT 1) REPLACE INTO notes SELECT * FROM x", "WITH REPLACE INSERT DELETE"},
		{"WITH x AS (SELECT 1) MERGE INTO t USING x ON a=b WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1)", "WITH MERGE DELETE INSERT"},
		{"SELECT * INTO copy1 FROM notes", "SELECT,SELECT INTO"},
		{"SELECT a FROM notes INTO OUTFILE '/tmp/o'", "SELECT,SELECT INTO,SELECT INTO OUTFILE"},
		{"SELECT a INTO DUMPFILE '/tmp/o' FROM notes", "SELECT,SELECT INTO,SELECT INTO OUTFILE"},
		{"TABLE notes INTO OUTFILE '/tmp/o'", "TABLE,SELECT INTO,SELECT INTO OUTFILE"},
		{"SELECT 1 FROM notes FOR UPDATE", "SELECT,SELECT FOR UPDATE"},
		{"SELECT 1 FROM notes FOR NO KEY UPDATE", "SELECT,SELECT FOR UPDATE"},
		{"SELECT 1 FROM (SELECT 1 FROM notes FOR SHARE) s", "SELECT,SELECT FOR SHARE"},
		{"SELECT 1 FROM notes FOR KEY SHARE", "SELECT,SELECT FOR SHARE"},
		{"SELECT 1 FROM notes LOCK IN SHARE MODE", "SELECT,SELECT FOR SHARE"},
		{"SELECT 1 FROM notes WITH (UPDLOCK, HOLDLOCK)", "SELECT,SELECT FOR UPDATE"},
		{"SELECT 1. INTO OUTFILE '/x'", "SELECT,SELECT INTO,SELECT INTO OUTFILE"},
		{"SELECT a.*INTO copy1 FROM a", "SELECT,SELECT INTO"},
		{"PRAGMA journal_mode=OFF", "?PRAGMA SET"},
		{"PRAGMA journal_mode(off)", "?PRAGMA SET"},
		{"PRAGMA 'writable_schema' = 1", "?PRAGMA SET"},
		{"PRAGMA optimize", "?PRAGMA SET"},
		{"PRAGMA no_such", "?PRAGMA SET"},
		{"EXPLAIN PRAGMA journal_mode=off", "?EXPLAIN,PRAGMA SET"},
		{"SELECT * FROM pragma_journal_mode", "SELECT,PRAGMA SET"},
		{"SELECT * FROM \"pragma_user_version\"('9')", "SELECT,PRAGMA SET"},
		{"SELECT * FROM 'pragma_user_version'", "SELECT,PRAGMA SET"},

		// changes
		{"INSERT INTO notes VALUES (1)", "INSERT"},
		{"INSERT INTO notes(a) SELECT 1", "INSERT"},
		{"INSERT OR REPLACE INTO notes VALUES (1)", "INSERT REPLACE DELETE"},
		{"REPLACE INTO notes VALUES (1)", "REPLACE INSERT DELETE"},
		{"INSERT INTO notes VALUES (1) ON CONFLICT (a) DO NOTHING", "INSERT"},
		{"INSERT INTO notes VALUES (1) ON CONFLICT (a) DO UPDATE SET a=2", "INSERT UPSERT UPDATE"},
		{"INSERT INTO notes VALUES (1) ON DUPLICATE KEY UPDATE a=2", "INSERT UPSERT UPDATE"},
		{"UPSERT INTO notes VALUES (1)", "UPSERT INSERT UPDATE"},
		{"/* x */ UPDATE notes SET a=1", "UPDATE"},
		{"-- x\nDELETE FROM notes", "DELETE"},
		{"(DELETE FROM notes)", "DELETE"},
		{"UPDATE (notes) SET a=1", "UPDATE"},
		{"MERGE INTO t USING s ON a=b WHEN MATCHED THEN UPDATE SET a=1", "MERGE UPDATE"},
		{"COPY notes TO STDOUT", "COPY"},
		{"COPY (DELETE FROM notes RETURNING *) TO '/tmp/x'", "COPY DELETE"},
		{"LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "LOAD,LOAD DATA"},
		{"BULK INSERT t FROM 'x'", "BULK INSERT"},
		{"HANDLER t OPEN", "~HANDLER"},
		{"CREATE TABLE t(a)", "CREATE"},
		{"CREATE TABLE t(a INT REFERENCES b(c) ON DELETE CASCADE ON UPDATE SET NULL)", "CREATE"},
		{"CREATE TABLE t AS SELECT 1", "CREATE"},
		{"CREATE OR REPLACE VIEW v AS SELECT 1", "CREATE"},
		{"CREATE PROCEDURE p AS DELETE FROM notes", "CREATE DELETE"},
		{"CREATE TRIGGER t AFTER DELETE ON notes FOR EACH ROW EXECUTE FUNCTION f()", "~CREATE EXECUTE"},
		{"ALTER TABLE t ADD COLUMN a INT", "ALTER"},
		{"ALTER TABLE t DROP COLUMN a", "ALTER"},
		{"ALTER TABLE t ALTER COLUMN a SET DEFAULT 1", "ALTER"},
		{"DROP TABLE IF EXISTS t", "DROP"},
		{"TRUNCATE TABLE t", "TRUNCATE"},
		{"RENAME TABLE a TO b", "RENAME"},
		{"COMMENT ON TABLE t IS 'x'", "COMMENT"},
		{"REFRESH MATERIALIZED VIEW v", "REFRESH"},
		{"ATTACH 'x.db' AS x", "ATTACH"},
		{"DETACH x", "DETACH"},
		{"VACUUM", "VACUUM"},
		{"VACUUM main INTO 'x.db'", "VACUUM,VACUUM INTO"},
		{"REINDEX t", "REINDEX"},
		{"ANALYZE t", "ANALYZE"},
		{"GRANT SELECT, INSERT ON t TO u", "GRANT"},
		{"GRANT UPDATE ON t TO u", "GRANT"},
		{"REVOKE DELETE ON t FROM u", "REVOKE"},

		// sessions and programs
		{"BEGIN", "BEGIN"},
		{"START TRANSACTION READ ONLY", "START"},
		{"COMMIT", "COMMIT"},
		{"END", "COMMIT"},
		{"ROLLBACK TO SAVEPOINT a", "ROLLBACK"},
		{"SAVEPOINT a", "SAVEPOINT"},
		{"LOCK TABLE t IN SHARE MODE", "LOCK"},
		{"CALL p()", "CALL"},
		{"DO $$ BEGIN NULL END $$", "~DO"},
		{"PREPARE p AS DELETE FROM notes", "PREPARE DELETE"},
		{"EXECUTE p", "EXECUTE"},
		{"EXEC xp_cmdshell 'dir'", "EXECUTE"},
		{"DECLARE c CURSOR FOR SELECT 1", "DECLARE"},
		{"SET search_path = x", "SET"},
		{"USE db", "USE"},
		{"KILL 5", "KILL"},
		{"NOTIFY c, 'x'", "NOTIFY"},

		// stacked
		{"SELECT 1; DROP TABLE notes", "*SELECT DROP"},
		{"SELECT 1; SELECT 2", "*SELECT"},
		{"COMMIT; DROP TABLE notes", "*COMMIT DROP"},
		{"BEGIN; SELECT 1", "*BEGIN SELECT"},
		{"SELECT 1;;-- x\n;DELETE FROM notes", "*SELECT DELETE"},

		// words that are no statements
		{"SELECT 'please attach and drop by' AS note", "SELECT"},
		{"SELECT deleted_at, created_at FROM notes", "SELECT"},
		{"SELECT REPLACE(a,'x','y') FROM notes", "SELECT"},
		{"SELECT ROUND(TRUNCATE(a, 2)), (REPLACE(a,'x','y')) FROM notes", "SELECT"},
		{"SELECT ';'", "SELECT"},
		{"SELECT \"update\" FROM notes", "SELECT"},
		{"SELECT n.\"into\", n.update FROM notes n", "SELECT"},
		{"SELECT 1 AS update, 2 AS \"drop\"", "SELECT"},
		{"-- it's fine\nSELECT 1", "SELECT"},
		{"/* it's; DROP */ SELECT 1", "SELECT"},
		{"SELECT 'it''s; DROP'", "SELECT"},
		{"SELECT open, close, load FROM prices WHERE open > 1 ORDER BY close", "SELECT"},
		{"SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY", "SELECT"},
		{"SELECT a FROM t FETCH FIRST 5 ROWS ONLY", "SELECT"},
		{"SELECT SUBSTRING(a FROM 1 FOR 2) FROM t", "SELECT"},
		{"SELECT * FROM t WITH (NOLOCK)", "SELECT"},
		{"SELECT a, IF(b, 1, 2) FROM t USE INDEX (i)", "SELECT"},
		{"SELECT 'fsdir', 'pragma_x' WHERE a IN ('fsdir', 'lsdir')", "SELECT"},
	} {
		for _, d := range everyDialect {
			want := tt.want
			if want[0] == '~' { // read differently by some
				if d == sql.Any || d == sql.MSSQL {
					continue
				}
				want = want[1:]
			}
			if want[0] == '?' {
				if want = want[1:]; d == sql.MSSQL {
					want = "EXECUTE" // not a statement of its own, but a procedure of that name
				}
			}
			stacked := want[0] == '*'
			want = strings.TrimPrefix(want, "*")
			kinds := splitKinds(want)
			if r := sql.Read(tt.text, d); !slices.Equal(r.Kinds, kinds) || r.Stacked != stacked || r.Fault != "" {
				if d == sql.MSSQL && slices.Contains(kinds, "EXECUTE") && slices.Contains(r.Kinds, "EXECUTE") {
					continue // what follows may be a statement by itself
				}
				t.Errorf("%s %q: %+v, want %q, stacked %v", d, tt.text, r, kinds, stacked)
			}
		}
	}
}

// splitKinds reads kinds parted by blanks, or by commas where one has a blank.
func splitKinds(text string) (kinds []string) {
	all := sql.Kinds()
	for part := range strings.SplitSeq(text, ",") {
		if slices.Contains(all, part) {
			kinds = append(kinds, part)
		} else {
			kinds = append(kinds, strings.Fields(part)...)
		}
	}
	return kinds
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	want := []string{"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "EXPLAIN", "EXPLAIN ANALYZE", "PRAGMA"}
	var got []string
	for _, k := range sql.Kinds() {
		if sql.ReadOnly(k) {
			got = append(got, k)
		}
		if sql.ReadOnly(k) != sql.ReadOnly(strings.ToLower(k)) {
			t.Errorf("%s: its case matters", k)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("read-only are %q, want %q", got, want)
	}
	for _, k := range []string{"", "UNKNOWN", "SELECT ", "no kind"} {
		if sql.ReadOnly(k) {
			t.Errorf("%q is read-only", k)
		}
	}
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range sql.Kinds() {
		if k == "" || seen[k] || k != strings.ToUpper(k) {
			t.Errorf("%q is empty, twice or not in upper case", k)
		}
		seen[k] = true
	}
}
