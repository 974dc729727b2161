package sql

import (
	"fmt"
	"slices"
	"strings"
)

// Dialect is whose lexical rules a text is read by. The zero Dialect is [Any].
type Dialect string

// The dialects, each as its engine reads a query with its default settings:
// PostgreSQL with standard_conforming_strings on, MySQL (and MariaDB) without
// ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
const (
	Any      Dialect = ""         // not known: what they read differently is a fault
	Postgres Dialect = "postgres" // PostgreSQL, and what speaks its language
	MySQL    Dialect = "mysql"    // MySQL, MariaDB
	SQLite   Dialect = "sqlite"   // SQLite, its command line tool included
	MSSQL    Dialect = "mssql"    // SQL Server (T-SQL), sqlcmd included
)

// Dialects returns the dialects that can be set.
func Dialects() []Dialect { return []Dialect{Postgres, MySQL, SQLite, MSSQL} }

// other names that users write, of the same dialects.
var dialectAliases = map[string]Dialect{
	"postgresql": Postgres,
	"mariadb":    MySQL,
	"sqlite3":    SQLite,
	"sqlserver":  MSSQL,
	"tsql":       MSSQL,
}

// ParseDialect returns the dialect of that name; postgresql, mariadb, sqlite3,
// sqlserver and tsql are other names of the four. The empty name is [Any]. The
// error lists the names.
func ParseDialect(name string) (Dialect, error) {
	if d := Dialect(name); d == Any || slices.Contains(Dialects(), d) {
		return d, nil
	}
	if d, known := dialectAliases[name]; known {
		return d, nil
	}
	var names []string
	for _, d := range Dialects() {
		names = append(names, string(d))
	}
	return Any, fmt.Errorf("unknown SQL dialect %q: want one of %s", name, strings.Join(names, ", "))
}

// features are the lexical rules on which dialects differ.
type features struct {
	any bool // stop where a rule below would matter

	backslash  bool // \ escapes in '…' and "…"
	escapeE    bool // \ escapes in E'…'; U&"…" is an identifier
	dollar     bool // $tag$…$tag$ is a literal
	nested     bool // /* … */ nests
	executable bool // /*! … */ is run
	dashSpace  bool // -- needs white space behind it
	hash       bool // # begins a comment
	brackets   bool // […] is an identifier
	doubled    bool // ]] within it is a ]
	backtick   bool // `…` is an identifier
	goLine     bool // GO alone on its line ends a statement
	slashLine  bool // and so does /
	sqlcmd     bool // :r and !! at a line start are the client's commands
	implicit   bool // a statement needs no ; before it, a call no EXECUTE
	lenient    bool // EXPLAIN, SHOW and PRAGMA are read though an engine has none
}

var dialectFeatures = map[Dialect]*features{
	Any:      {any: true, lenient: true},
	Postgres: {escapeE: true, dollar: true, nested: true},
	MySQL:    {backslash: true, executable: true, dashSpace: true, hash: true, backtick: true},
	SQLite:   {brackets: true, backtick: true, goLine: true, slashLine: true},
	MSSQL:    {nested: true, brackets: true, doubled: true, goLine: true, sqlcmd: true, implicit: true},
}

// comparedFeatures are those of [Dialects], for a text whose dialect is not
// known: a statement that one of them does not have must not tell them apart.
var comparedFeatures = func() (all []*features) {
	for _, d := range Dialects() {
		f := *dialectFeatures[d]
		f.lenient = true
		all = append(all, &f)
	}
	return all
}()
