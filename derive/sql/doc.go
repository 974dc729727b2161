// Package sql reads what kinds of statement a query text holds. It is a lexer
// that is exact for each dialect about where a literal, a name and a comment
// end, and a list of statement shapes on top of it; it is no parser. A text it
// does not recognise is of kind [Unknown] and has a Fault.
//
// Three things cannot be seen in a text and are not judged: what a function,
// view, trigger or procedure of the database's own does when a query uses it;
// what a string holds that an engine runs as SQL (which is why EXECUTE, DO and
// the like are never read-only); and settings that change the lexer, such as
// NO_BACKSLASH_ESCAPES.
package sql
