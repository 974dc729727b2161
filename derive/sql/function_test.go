package sql_test

import (
	"slices"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

// A call of a listed function is no mere reading, however it is spelt.
func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT set_config('search_path', 'x', false)",
		"SELECT pg_catalog.set_config('a', 'b', false)",
		`SELECT "set_config"('a', 'b', false)`,
		`SELECT "pg_catalog"."set_config"('a', 'b', false)`,
		"SELECT SET_CONFIG /* x */ -- y\n ('a', 'b', false)",
		"SELECT pg_read_file('/etc/passwd')",
		"SELECT * FROM pg_ls_dir('/')",
		"SELECT * FROM ROWS FROM (pg_read_binary_file('/x'))",
		"SELECT 1 WHERE EXISTS (SELECT lo_import('/x'))",
		"SELECT lo_export(1, '/x')",
		"SELECT * FROM dblink('host=x', 'SELECT 1') AS t(a int)",
		"SELECT dblink_exec('DROP TABLE t')",
		"SELECT query_to_xml('DELETE FROM t', true, true, '')",
		"SELECT pg_sleep(5)",
		"SELECT pg_terminate_backend(1)",
		"SELECT pg_advisory_lock(1), pg_try_advisory_lock(2)",
		"SELECT nextval('s')",
		"SELECT setval('s', 1)",
		"SELECT load_extension('x')",
		"SELECT writefile('x', 'y'), readfile('x'), edit('x')",
		"SELECT fts3_tokenizer('x', 'y')",
		"SELECT * FROM fsdir WHERE path = '/'",
		"SELECT * FROM 'fsdir'('/')",
		"SELECT * FROM t, 'fsdir' WHERE path = '/'",
		"SELECT LOAD_FILE('/etc/passwd')",
		"SELECT SLEEP(5), BENCHMARK(1, 1), GET_LOCK('a', 1)",
		"SELECT sys_exec('id'), sys_eval('id')",
		"SELECT * FROM OPENROWSET(BULK 'x', SINGLE_CLOB) a",
		"SELECT * FROM OPENDATASOURCE('x', 'y').a.b.c",
		"SELECT * FROM OPENQUERY(s, 'DROP TABLE t')",
		"SELECT * FROM srv.db.dbo.t",
		"SELECT * FROM [srv]...[t]",
		"SELECT * FROM a JOIN srv.db.dbo.t ON 1 = 1",
		"SELECT xp_cmdshell('dir')",
		"SELECT UTL_HTTP.REQUEST('http://x/') FROM dual",
		"SELECT sys.utl_inaddr.get_host_name('x') FROM dual",
		"SELECT NEXT VALUE FOR s",
		"SELECT s.nextval FROM dual",
		"SELECT cron.schedule('* * * * *', 'DROP TABLE t')",
		"SELECT aws_lambda.invoke('f', '{}')",
		"SELECT optimize(t) FROM t",
		"WITH x AS (SELECT pg_sleep(1)) SELECT * FROM x",
		"EXPLAIN SELECT load_extension('x')",
		"SHOW STATUS WHERE SLEEP(5)",
		"VALUES (pg_sleep(1))",
		"TABLE t; SELECT pg_sleep(1)",
	} {
		for _, d := range everyDialect {
			if r := sql.Read(text, d); !slices.Contains(r.Kinds, "FUNCTION") && r.Fault == "" {
				t.Errorf("%s %q: %+v", d, text, r)
			}
			if r := sql.Read(text, d); readOnly(r) {
				t.Errorf("%s %q is read-only", d, text)
			}
		}
	}
	for _, text := range []string{"SELECT [load_extension]('x')", "SELECT `load_extension`('x')"} {
		for _, d := range []sql.Dialect{sql.Any, sql.SQLite} {
			if r := sql.Read(text, d); !slices.Contains(r.Kinds, "FUNCTION") {
				t.Errorf("%s %q: %+v", d, text, r)
			}
		}
	}
	for _, text := range []string{
		"SELECT sleep, edit, load_file FROM t",
		"SELECT 'pg_sleep(1)', \"pg_sleep\" FROM t -- pg_sleep(1)",
		"SELECT currval('s'), lastval(), lower(a), count(*), json_extract(a, '$.b') FROM t",
		"SELECT nextvalue(a), my_set_config(b), log(c), location(d) FROM t",
		"SELECT a.b.c FROM db.dbo.t a JOIN u ON x.y.z.w = 1",
		"SELECT pg_size_pretty(pg_database_size('x')), pg_get_viewdef('v'), pg_table_size('t')",
		"SELECT load_file AS pg_sleep, (a) FROM t WHERE sleep IN (1)",
	} {
		for _, d := range everyDialect {
			if r := sql.Read(text, d); !readOnly(r) {
				t.Errorf("%s %q: %+v", d, text, r)
			}
		}
	}
}
