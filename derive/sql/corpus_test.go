package sql_test

import (
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/derive/sql"
)

// queries that agents send, each with the dialects it is written for. They must
// be allowed there, and with no dialect set too, but for those marked with a !,
// which another dialect reads in another way. ¶ is a newline.
const queries = `
postgres mysql sqlite mssql
SELECT 1
SELECT * FROM users
SELECT id, name, email FROM users WHERE id = 42
SELECT COUNT(*) FROM orders
SELECT DISTINCT status FROM orders ORDER BY status
SELECT * FROM orders WHERE status IN ('open', 'closed') AND total >= 100.50
SELECT * FROM users WHERE name LIKE '%smith%' OR name LIKE 'O''Brien%'
SELECT u.name, COUNT(o.id) AS n FROM users u LEFT JOIN orders o ON o.user_id = u.id GROUP BY u.name HAVING COUNT(o.id) > 3 ORDER BY n DESC
SELECT a.*, b.total FROM accounts AS a INNER JOIN balances AS b ON a.id = b.account_id CROSS JOIN currencies
SELECT name, (SELECT MAX(created_at) FROM logins l WHERE l.user_id = u.id) AS last_login FROM users u
SELECT id, CASE WHEN total > 100 THEN 'large' WHEN total > 10 THEN 'medium' ELSE 'small' END AS size FROM orders
SELECT user_id, SUM(total) OVER (PARTITION BY user_id ORDER BY created_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders
SELECT *, ROW_NUMBER() OVER (PARTITION BY category ORDER BY price DESC) AS rn FROM products
WITH recent AS (SELECT * FROM orders WHERE created_at > '2024-01-01'), big AS (SELECT * FROM recent WHERE total > 100) SELECT * FROM big
SELECT id FROM a UNION ALL SELECT id FROM b EXCEPT SELECT id FROM c
SELECT * FROM users WHERE EXISTS (SELECT 1 FROM orders WHERE orders.user_id = users.id) AND NOT (deleted = 1)
SELECT COALESCE(nickname, name, 'unknown'), UPPER(TRIM(name)), REPLACE(phone, '-', '') FROM users
SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY ordinal_position
SELECT CAST(total AS DECIMAL(10, 2)), created_at, updated_at, deleted_at FROM orders WHERE deleted_at IS NULL
SELECT "order", "user", "update" FROM "my table" WHERE "group" = 'x'
-- how many users signed up?¶SELECT COUNT(*)¶FROM users -- all of them¶WHERE active = 1;¶
/* report */ SELECT date, open, high, low, close, volume FROM prices WHERE close > open
SELECT 'DROP TABLE users; --' AS payload, ';' AS separator
SELECT * FROM messages WHERE body LIKE '%delete from%' OR body = 'please update the grant; drop me a line'
SELECT AVG(CASE WHEN a = b THEN 1.0 ELSE 0 END) * 100 AS pct FROM results WHERE x BETWEEN 1 AND 10 AND y <> -5
SELECT 'naïve café', name FROM städte WHERE größe > 3
postgres mysql sqlite
SELECT * FROM logs ORDER BY id DESC LIMIT 10 OFFSET 20
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT n FROM t
EXPLAIN SELECT * FROM users WHERE id = 1
SELECT data->>'name', data->'address'->>'city' FROM profiles WHERE data->>'active' = 'true'
VALUES (1, 'a'), (2, 'b')
postgres
SELECT id::text, created_at::date FROM orders WHERE total::numeric > 10
SELECT * FROM users WHERE email ILIKE '%@example.com' LIMIT 5
SELECT * FROM events WHERE payload @> '{"type": "click"}' AND payload ? 'user'
SELECT payload #>> '{a,b}' FROM events
SELECT date_trunc('month', created_at) AS month, COUNT(*) FILTER (WHERE paid) FROM orders GROUP BY 1 ORDER BY 1
SELECT DISTINCT ON (user_id) user_id, created_at FROM logins ORDER BY user_id, created_at DESC
SELECT unnest(ARRAY[1, 2, 3]) AS n, tags[1] FROM posts WHERE 'go' = ANY(tags)
SELECT generate_series(1, 10), now() - interval '7 days', extract(epoch FROM now())
SELECT relname, n_live_tup FROM pg_stat_user_tables ORDER BY n_live_tup DESC
SELECT pg_size_pretty(pg_total_relation_size('users')), current_setting('server_version'), version()
SELECT json_agg(row_to_json(t)) FROM (SELECT id, name FROM users) t
SELECT * FROM users u, LATERAL (SELECT * FROM orders o WHERE o.user_id = u.id LIMIT 3) x
SELECT name ~* '^a\d+$', E'tab\tnew\nline' FROM users
SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH FIRST 10 ROWS ONLY
SELECT $$it is $$ || $1
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM users
EXPLAIN ANALYZE SELECT * FROM users
SHOW server_version
!SELECT $$it's$$
!SELECT * FROM t WHERE a LIKE '50\%' ESCAPE '\'
mysql
SELECT ` + "`order`.`id`, `u`.`name` FROM `order` JOIN `users` AS `u` ON `u`.`id` = `order`.`user_id`" + `
SELECT IFNULL(name, ''), GROUP_CONCAT(tag SEPARATOR ', '), IF(active, 'yes', 'no') FROM users GROUP BY 1
SELECT DATE_FORMAT(created_at, '%Y-%m'), DATE_SUB(NOW(), INTERVAL 7 DAY) FROM orders LIMIT 20, 10
SELECT JSON_EXTRACT(data, '$.name'), data->>'$.city' FROM profiles
SHOW TABLES
SHOW FULL COLUMNS FROM users
SHOW CREATE TABLE users
SHOW VARIABLES LIKE 'max_%'
SHOW INDEX FROM orders
SHOW DATABASES;
DESCRIBE users
EXPLAIN FORMAT=JSON SELECT * FROM users
SELECT * FROM users USE INDEX (by_name) WHERE name REGEXP '^a'
SELECT @@version, DATABASE(), @rownum := @rownum + 1 FROM users
!SELECT 'it\'s fine' AS note
!SELECT 1 # it's one
sqlite
PRAGMA table_info(users)
PRAGMA table_info('users');
PRAGMA foreign_key_list(orders)
PRAGMA database_list
PRAGMA user_version
SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
SELECT * FROM pragma_table_info('users')
EXPLAIN QUERY PLAN SELECT * FROM users WHERE name = 'a'
SELECT strftime('%Y', created_at) AS year, total(amount) FROM orders GROUP BY year
SELECT j.value FROM users, json_each(users.tags) AS j WHERE rowid > ?1 AND name GLOB 'a*'
SELECT [order], x'00ff' FROM [my table]
mssql
SELECT TOP (10) * FROM [dbo].[Orders] WITH (NOLOCK) WHERE [Total] > 5 ORDER BY [Id] DESC
SELECT name FROM sys.tables t JOIN sys.schemas s ON s.schema_id = t.schema_id WHERE s.name = N'dbo'
SELECT a, ISNULL(b, 0), DATEADD(day, -7, GETDATE()) FROM db.dbo.t ORDER BY a OFFSET 0 ROWS FETCH NEXT 10 ROWS ONLY
SELECT * FROM t CROSS APPLY STRING_SPLIT(t.tags, ',') FOR JSON AUTO
WITH x AS (SELECT 1 AS n) SELECT n FROM x OPTION (MAXRECURSION 10)
SELECT * FROM (SELECT a, b FROM t) p PIVOT (SUM(b) FOR a IN ([x], [y])) AS q
SELECT doc.query('/a/b'), doc.value('(/a)[1]', 'int') FROM t
`

func TestQueriesOfAgents(t *testing.T) {
	t.Parallel()
	var dialects []sql.Dialect
	n := 0
	for line := range strings.SplitSeq(strings.TrimSpace(queries), "\n") {
		first, _, _ := strings.Cut(line, " ")
		if d, err := sql.ParseDialect(first); err == nil && d != sql.Any {
			dialects = nil
			for name := range strings.FieldsSeq(line) {
				dialects = append(dialects, sql.Dialect(name))
			}
			continue
		}
		n++
		text, differs := strings.CutPrefix(line, "!")
		text = strings.ReplaceAll(text, "¶", "\n")
		for _, d := range dialects {
			if r := sql.Read(text, d); !readOnly(r) {
				t.Errorf("%s refuses %q: %+v", d, text, r)
			}
		}
		if r := sql.Read(text, sql.Any); readOnly(r) == differs {
			t.Errorf("with none set, %q: %+v", text, r)
		}
	}
	if n < 60 {
		t.Errorf("only %d queries", n)
	}
}
