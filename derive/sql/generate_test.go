package sql_test

import (
	"math/rand/v2"
	"strings"
)

// generator makes texts out of a grammar of SQLite's statements. Its methods
// return tokens.
type generator struct {
	*rand.Rand
	depth int
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

// join puts tokens in a row, each split at its blanks.
func join(parts ...[]string) (tokens []string) {
	for _, p := range parts {
		tokens = append(tokens, p...)
	}
	return tokens
}

func words(text string) []string { return strings.Fields(text) }

// text is a statement with blanks, comments and case at random; mutated if its
// tokens were tampered with.
func (g *generator) text() (text string, mutated bool) {
	tokens := g.statement()
	if g.chance(40) {
		mutated = true
		for range 1 + g.IntN(3) {
			tokens = g.mutate(tokens)
		}
	}
	var b strings.Builder
	for _, t := range tokens {
		if t[0] != '\'' && t[0] != '"' && t[0] != '[' && t[0] != '`' && g.chance(30) {
			t = g.pick(strings.ToUpper(t), strings.ToLower(t))
		}
		b.WriteString(t)
		b.WriteString(g.blank())
	}
	if g.chance(15) {
		b.WriteString(";")
	}
	return b.String(), mutated
}

func (g *generator) blank() string {
	if g.chance(85) {
		return " "
	}
	return g.pick("\t", "\n", "\r\n", " /* it's */ ", " -- it's; DROP\n", "/**/", " /* ; -- */ ", "\n\n", " /*/ x */ ")
}

func (g *generator) mutate(tokens []string) []string {
	at := g.IntN(len(tokens) + 1)
	switch g.IntN(4) {
	case 0: // drop
		if len(tokens) > 1 && at < len(tokens) {
			return append(append([]string{}, tokens[:at]...), tokens[at+1:]...)
		}
	case 1: // twice
		if at < len(tokens) {
			return append(append(append([]string{}, tokens[:at+1]...), tokens[at]), tokens[at+1:]...)
		}
	case 2: // another statement behind it
		return join(tokens, []string{";"}, g.statement())
	}
	insert := g.pick(";", "'", `"`, "`", "[", "]", "(", ")", "--", "/*", "*/", "#", "$$", `\`, "DELETE", "UPDATE", "INTO", "DROP", "AS", "WITH",
		"EXPLAIN", "PRAGMA", "'a'", "x'00'", "E'\\''", "--x", ",", ".", "REPLACE", "INSERT", "VALUES", "GO", "\n/\n", "\ngo\n", "0x", "1a", "\u00a0", "é")
	return append(append(append([]string{}, tokens[:at]...), insert), tokens[at:]...)
}

func (g *generator) statement() []string {
	switch g.IntN(10) {
	case 0:
		return g.pragma()
	case 1:
		return g.change()
	case 2:
		return words(g.pick("VACUUM", "VACUUM INTO 'x.db'", "ATTACH 'x.db' AS x", "DETACH x", "REINDEX notes", "ANALYZE", "BEGIN", "BEGIN IMMEDIATE",
			"COMMIT", "ROLLBACK", "SAVEPOINT s", "RELEASE s", "END", "CREATE TABLE t ( a )", "CREATE TABLE t AS SELECT 1", "DROP TABLE notes",
			"CREATE TEMP TABLE t ( a )", "ALTER TABLE notes RENAME TO n", "CREATE VIEW v AS SELECT 1", "DROP INDEX by_a",
			"CREATE TRIGGER t AFTER DELETE ON notes BEGIN SELECT 1 ; END"))
	case 3:
		return join(words(g.pick("EXPLAIN", "EXPLAIN QUERY PLAN")), g.statement())
	case 4:
		return join(g.with(), g.change())
	}
	return g.query()
}

func (g *generator) pragma() []string {
	name := g.pick("table_info", "index_list", "user_version", "journal_mode", "foreign_keys", "integrity_check", "database_list", "page_count",
		"synchronous", "writable_schema", "optimize", "wal_checkpoint", "cache_size", "encoding", "table_xinfo", "foreign_key_check", "no_such_pragma")
	if g.chance(20) {
		name = "main." + name
	}
	value := g.pick("notes", "1", "off", "'x'", "-5", `"notes"`)
	switch g.IntN(3) {
	case 0:
		return []string{"PRAGMA", name, "=", value}
	case 1:
		return []string{"PRAGMA", name, "(", value, ")"}
	}
	return []string{"PRAGMA", name}
}

func (g *generator) change() []string {
	returning := words(g.pick("", "", "RETURNING *"))
	switch g.IntN(4) {
	case 0:
		return join(words("DELETE FROM notes WHERE a ="), g.expression(), returning)
	case 1:
		return join(words(g.pick("UPDATE notes SET a =", "UPDATE OR REPLACE notes SET a =")), g.expression(), returning)
	case 2:
		return join(words(g.pick("REPLACE INTO users ( a )", "INSERT INTO users ( a )", "INSERT OR REPLACE INTO users ( a )", "INSERT OR IGNORE INTO users ( a )")),
			words("VALUES ("), g.expression(), words(")"), returning)
	}
	return join(words("INSERT INTO users ( name ) SELECT"), g.expression(), words("FROM notes WHERE true ON CONFLICT ( name ) DO"),
		words(g.pick("NOTHING", "UPDATE SET a = 1")))
}

func (g *generator) with() []string {
	tokens := words(g.pick("WITH", "WITH RECURSIVE"))
	for i := range 1 + g.IntN(2) {
		if i > 0 {
			tokens = append(tokens, ",")
		}
		tokens = join(tokens, []string{[]string{"x", "y"}[i]}, words(g.pick("", "", "( n )")), words(g.pick("AS (", "AS (", "AS NOT MATERIALIZED (", "AS MATERIALIZED (")),
			words("SELECT"), g.expression(), words(g.pick("AS n", "AS n FROM notes", "AS n UNION ALL SELECT 2")), []string{")"})
	}
	return tokens
}

func (g *generator) query() []string {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 3 {
		return words("SELECT 1")
	}
	if g.chance(5) {
		return join(words("VALUES ("), g.expression(), []string{",", "1", ")"})
	}
	var tokens []string
	if g.depth == 1 && g.chance(20) {
		tokens = g.with()
	}
	tokens = join(tokens, words(g.pick("SELECT", "SELECT DISTINCT", "SELECT ALL", "SELECT")), g.expression())
	for range g.IntN(3) {
		tokens = join(tokens, []string{","}, g.expression(), words(g.pick("", "AS note", `AS "drop"`, "AS total")))
	}
	tokens = join(tokens, words(g.pick("FROM notes", "FROM notes n", "FROM notes AS n", "FROM recent", "FROM main.notes", "FROM notes , users",
		"FROM notes JOIN users ON notes.id = users.id", "FROM notes LEFT OUTER JOIN users USING ( id )", "FROM ( SELECT * FROM notes )",
		"FROM [notes]", "FROM `notes`", `FROM "notes"`, "FROM notes INDEXED BY by_a", "FROM json_each ( '[1]' )", "FROM pragma_table_info ( 'notes' )")))
	if g.chance(50) {
		tokens = join(tokens, words("WHERE"), g.expression())
	}
	if g.chance(20) {
		tokens = join(tokens, words("GROUP BY 1"), words(g.pick("", "HAVING count ( * ) > 1")))
	}
	if g.chance(10) {
		tokens = join(tokens, words(g.pick("UNION", "UNION ALL", "EXCEPT", "INTERSECT")), words("SELECT 1"))
	}
	if g.chance(20) {
		tokens = join(tokens, words("ORDER BY 1 "+g.pick("", "DESC", "ASC NULLS LAST")))
	}
	if g.chance(20) {
		tokens = join(tokens, words(g.pick("LIMIT 5", "LIMIT 5 OFFSET 10", "LIMIT ( SELECT 1 )")))
	}
	return tokens
}

func (g *generator) expression() []string {
	g.depth++
	defer func() { g.depth-- }()
	leaf := g.pick("a", "b", "deleted_at", "1", "2.5", "1e3", "0x1F", "NULL", "'x'", "'it''s'", "'; DROP TABLE notes'", "'-- no'", "'/* no'", "x'00ff'",
		`"update"`, "[delete]", "`insert`", `"deleted_at"`, "'a\\'", "'\\d+'", "?", ":a", "@a", "$a", "'please attach and drop by'", "''", "-1", "'\n'")
	if g.depth > 4 || g.chance(50) {
		return []string{leaf}
	}
	switch g.IntN(12) {
	case 0:
		return join(words("replace ("), g.expression(), words(", 'x' , 'y' )"))
	case 1:
		return join(words(g.pick("lower", "max", "coalesce", `"abs"`, "load_extension", "json_extract", "[lower]", "`upper`")), []string{"("}, g.expression(), words(", 'x' )"))
	case 2:
		return join(words("CASE WHEN"), g.expression(), words("THEN"), g.expression(), words("ELSE"), g.expression(), words("END"))
	case 3:
		return join([]string{"("}, g.query(), []string{")"})
	case 4:
		return join(words("a IN ("), g.expression(), []string{","}, g.expression(), []string{")"})
	case 5:
		return join(words("EXISTS ("), g.query(), []string{")"})
	case 6:
		return join(words("CAST ("), g.expression(), words("AS TEXT )"))
	case 7:
		return words(g.pick("count ( * ) FILTER ( WHERE a > 1 )", "row_number ( ) OVER ( PARTITION BY a ORDER BY b )", "sum ( a ) OVER ( ROWS BETWEEN 1 PRECEDING AND CURRENT ROW )", "count ( DISTINCT a )"))
	case 8:
		return join(words("a LIKE"), g.expression(), words(g.pick("", "ESCAPE '!'", `ESCAPE '\'`)))
	case 9:
		return join([]string{"("}, g.expression(), []string{")"})
	}
	return join(g.expression(), []string{g.pick("+", "-", "*", "/", "||", "=", "<>", "AND", "OR", "IS NOT", "->", "->>", "<<", "%", "&", "==", "COLLATE NOCASE ||")}, g.expression())
}
