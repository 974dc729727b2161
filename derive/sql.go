package derive

import "github.com/aegis-aar/aegis/derive/sql"

// Query is what a query text would do.
type Query struct {
	// Kinds are the kinds of statement in it, each once, in order of
	// appearance: everything a verdict needs. With a Fault one of them is
	// "UNKNOWN", which is not read-only. There is always one.
	Kinds []string
	// Stacked: it holds more than one statement, under at least one reading.
	Stacked bool
	// Dialect is the one it was read in, by its canonical name; "" if none was
	// set, and then all read it alike or there is a Fault.
	Dialect string
	Fault   string // why it is not understood, fixed text
}

const faultDialect = "the dialect is not a known one"

// ReadQuery reads a query in a dialect that [sql.ParseDialect] knows, or in
// every one of them if dialect is "". Where their readings differ in kinds or
// stacking the Query has a Fault, the kinds of all readings, and "UNKNOWN".
//
// The limits are those of [sql.Read].
func ReadQuery(text, dialect string) Query {
	d, err := sql.ParseDialect(dialect)
	if err != nil {
		return Query{Kinds: []string{sql.Unknown}, Fault: faultDialect}
	}
	r := sql.Read(text, d)
	return Query{Kinds: r.Kinds, Stacked: r.Stacked, Dialect: string(d), Fault: r.Fault}
}

// ReadOnlyKind says whether statements of a kind, as in [Query.Kinds], only
// read. A query is read-only if all of its kinds are and it is not stacked.
func ReadOnlyKind(kind string) bool { return sql.ReadOnly(kind) }
