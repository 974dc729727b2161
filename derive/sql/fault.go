package sql

// why a text is not read. All are fixed texts.
const (
	faultLong       = "the query is longer than 1 MiB"
	faultUTF8       = "the query is not UTF-8"
	faultNUL        = "the query holds a NUL"
	faultControl    = "a control character stands outside quotes"
	faultLookalike  = "white space, a look-alike or an invisible character beyond ASCII stands outside quotes"
	faultString     = "a literal has no end"
	faultName       = "a quoted name has no end"
	faultComment    = "a comment has no end"
	faultNewline    = "a line comment holds a character at which some engines end the line"
	faultExecutable = "an executable comment (/*! or SET_VAR) is not judged"
	faultBackslash  = "a backslash stands outside quotes, a command of some clients"
	faultClient     = "a line begins with a command of the client"
	faultDigits     = "a number runs into a name"
	faultPrefix     = "a quote follows a letter that begins another kind of literal in some engines"
	faultHex        = "a bit or hexadecimal literal holds other characters"
	faultContinued  = "a literal with escapes goes on in another line"
	faultUnicode    = "a name is written in Unicode escapes"
)

// What dialects read differently. Each is a Fault if the readings differ in
// what the query does.
const (
	splitBackslash  = "dialects disagree about a backslash before a quote: set dialect"
	splitDash       = "dialects disagree about -- without white space behind it: set dialect"
	splitHash       = "dialects disagree about #, a comment in some: set dialect"
	splitNested     = "dialects disagree about a comment within a comment: set dialect"
	splitExecutable = "dialects disagree about /*! or /*+, which some run: set dialect"
	splitBracket    = "dialects disagree about [, a quote in some: set dialect"
	splitBacktick   = "dialects disagree about `, a quote in some: set dialect"
	splitDollar     = "dialects disagree about $, a quote in some: set dialect"
	splitUnicode    = "dialects disagree about a name in Unicode escapes: set dialect"
	splitLine       = "dialects disagree about a line that is a client's command in some: set dialect"
	splitImplicit   = "dialects disagree about where a statement ends, which needs no ; in some: set dialect"
)
