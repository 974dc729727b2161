package sql

import "strings"

const (
	faultEmpty       = "the query is empty"
	faultHead        = "the statement does not begin with a known keyword"
	faultParentheses = "parentheses do not pair"
	faultDepth       = "parentheses nest deeper than 1000"
	faultWith        = "WITH is not followed by a known statement"
	faultExplain     = "what EXPLAIN is given is not understood"
	faultPragma      = "the PRAGMA is not understood"
	faultShort       = "the statement ends after its first word"
)

// reader finds the kinds of the statements in a list of tokens.
type reader struct {
	*features
	text    string
	kinds   kindList
	stacked bool
	fault   string
	split   string // with features.any: what dialects read differently; the rest is void
	minus   bool   // the text begins with a minus
}

// refuse keeps the first fault.
func (r *reader) refuse(fault string) {
	if r.fault == "" {
		r.fault = fault
	}
	r.kinds.add(kindUnknown)
}

// script reads all statements.
func (r *reader) script(tokens []token) {
	found := 0
	for len(tokens) > 0 {
		end := 0
		for end < len(tokens) && tokens[end].kind != tokenEnd {
			end++
		}
		if end > 0 {
			found++
			r.statement(tokens[:end])
		}
		tokens = tokens[min(end+1, len(tokens)):]
	}
	if found == 0 {
		r.refuse(faultEmpty)
	}
	if found > 1 {
		r.stacked = true
	}
}

// scanning says how the tokens of a statement are looked at.
type scanning struct {
	main    int  // index of the word that decides, before which no statement ends
	query   bool // it can hold a SELECT's clauses; else the head's kind says it all but for what follows AS, DO …
	dry     bool // it is explained, not run
	inserts bool // the next INTO is that of an INSERT
}

func (r *reader) statement(s []token) {
	head := skipOpen(s, 0)
	if head == len(s) || s[head].kind != tokenWord {
		r.refuse(faultHead)
		r.scan(s, scanning{main: head, query: true})
		return
	}
	scan := scanning{main: head}
	switch w := s[head].word; w {
	case wSelect, wValues, wTable, wWith:
		if len(s) == 1 {
			r.refuse(faultShort)
		}
		scan.query = true
		scan.main = r.query(s, head, false)
		scan.inserts = writes(s, scan.main)
	case wExplain, wDescribe, wDesc:
		if r.implicit && !r.lenient {
			r.kinds.add(kindExecute) // a procedure of that name
			break
		}
		scan = r.explain(s, head)
	case wShow:
		scan.query = true
		switch {
		case r.implicit && !r.lenient:
			r.kinds.add(kindExecute)
			r.scan(s, scan)
			return
		case head+1 >= len(s) || s[head+1].kind > tokenString:
			r.refuse(faultShort)
		case showsDefinition(s, head):
			scan.main = head + 1
		}
		r.kinds.add(kindShow)
	case wPragma:
		if r.implicit && !r.lenient {
			r.kinds.add(kindExecute)
			break
		}
		r.pragma(s, head)
	default:
		k := words[w].kind
		if k == kindNone || r.called(s, head) {
			r.refuse(faultHead)
			scan.query = true
			break
		}
		r.kinds.add(k)
		r.details(s, head)
	}
	r.scan(s, scan)
}

// called says whether a word at the start is a name after all, such as a
// procedure's that is called without CALL.
func (r *reader) called(s []token, i int) bool {
	return i+1 < len(s) && (s[i+1].kind == tokenDot || r.is(s, i+1, '='))
}

// details adds the kinds that the second word of a statement tells.
func (r *reader) details(s []token, head int) {
	next := wordAt(s, head+1)
	switch s[head].word {
	case wReplace:
		// It deletes the rows that the new ones collide with.
		r.kinds.add(kindInsert)
		r.kinds.add(kindDelete)
	case wUpsert:
		r.kinds.add(kindInsert)
		r.kinds.add(kindUpdate)
	case wLoad:
		if next == wData || next == wXML {
			r.kinds.add(kindLoadData)
		}
	case wVacuum:
		for i := head + 1; i < len(s); i++ {
			if s[i].word == wInto {
				r.kinds.add(kindVacuumInto)
			}
		}
	case wAnalyze, wAnalyse:
		// MariaDB's ANALYZE runs the statement behind it.
		for i := head + 1; i < len(s) && i < head+5; i++ {
			if changesRows(s[i].word) {
				r.kinds.add(words[s[i].word].kind)
			}
		}
	}
}

// query adds the kinds of a SELECT, VALUES, TABLE or WITH statement and returns
// the index of the word that decides. With dry it is only explained.
func (r *reader) query(s []token, head int, dry bool) (main int) {
	for s[head].word == wWith {
		if !dry {
			r.kinds.add(kindWith)
		}
		main = afterWith(s, head)
		if main < 0 {
			r.refuse(faultWith)
			return head
		}
		head = main
	}
	w := s[head].word
	switch {
	case w == wSelect, w == wValues, w == wTable, changesRows(w):
	default:
		r.refuse(faultWith)
		return head
	}
	if !dry {
		r.kinds.add(words[w].kind)
		if w == wReplace {
			r.details(s, head)
		}
	}
	return head
}

// changesRows says whether a word begins a statement that may stand where a
// query may.
func changesRows(w word) bool {
	switch w {
	case wInsert, wUpdate, wDelete, wMerge, wReplace, wUpsert:
		return true
	}
	return false
}

// writes says whether the word at i begins a statement with an INTO of its own.
func writes(s []token, i int) bool { return i < len(s) && changesRows(s[i].word) }

// afterWith returns the index of the first word of the statement that the WITH
// at head belongs to, or -1. It follows the parenthesis that closes the last
// common table expression, or its SEARCH and CYCLE clauses.
func afterWith(s []token, head int) int {
	depth, clauses := 0, false
	for i := head + 1; i < len(s); i++ {
		switch s[i].kind {
		case tokenOpen:
			depth++
			clauses = false
			continue
		case tokenWord:
			if clauses && depth == 0 && (s[i].word == wSelect || s[i].word == wValues || s[i].word == wTable || changesRows(s[i].word)) {
				return i
			}
			continue
		case tokenClose:
			depth--
		default:
			continue
		}
		if depth < 0 {
			return -1
		}
		if depth > 0 || i+1 == len(s) {
			continue
		}
		switch next := s[i+1]; {
		case next.kind == tokenComma, next.kind == tokenWord && next.word == wAs:
		case next.kind == tokenWord && (next.word == wSearch || next.word == wCycle):
			clauses = true
		default:
			if main := skipOpen(s, i+1); main < len(s) && s[main].kind == tokenWord {
				return main
			}
			return -1
		}
	}
	return -1
}

// explain reads EXPLAIN, DESCRIBE and DESC, which MySQL takes for one: options,
// then a statement or a table. Any doubt about ANALYZE is taken as ANALYZE.
func (r *reader) explain(s []token, head int) scanning {
	analyze := false
	i := head + 1
options:
	for ; i < len(s); i++ {
		switch wordAt(s, i) {
		case wAnalyze, wAnalyse:
			analyze = true
			continue
		case wVerbose, wExtended, wPartitions, wPlan:
			continue
		case wQuery:
			if wordAt(s, i+1) == wPlan {
				i++
			}
			continue
		case wFormat:
			if r.is(s, i+1, '=') {
				i += 2
				continue
			}
		}
		if s[i].kind != tokenOpen {
			break
		}
		switch inner := wordAt(s, skipOpen(s, i)); inner {
		case wSelect, wWith, wValues, wTable:
			break options
		}
		end := i + 1
		for ; end < len(s) && s[end].kind != tokenClose; end++ {
			if r.spells(s[end], "analyze") || r.spells(s[end], "analyse") {
				if off := wordAt(s, end+1); off != wFalse && off != wOff {
					analyze = true
				}
			}
			if s[end].kind == tokenOpen {
				r.refuse(faultExplain)
			}
		}
		i = end
	}
	scan := scanning{main: i, query: true, dry: !analyze}
	head = skipOpen(s, i)
	if analyze {
		r.kinds.add(kindExplainAnalyze)
	}
	inner := wordAt(s, head)
	switch {
	case inner == wSelect, inner == wWith, inner == wValues, inner == wTable:
		if !analyze {
			r.kinds.add(kindExplain)
		}
		scan.main = r.query(s, head, scan.dry)
		scan.inserts = writes(s, scan.main)
	case inner == wPragma:
		// Some act when they are compiled, explained or not.
		r.kinds.add(kindExplain)
		r.pragma(s, head)
	case i < len(s) && r.describes(s[i:]):
		if !analyze {
			r.kinds.add(kindDescribe)
		} else {
			r.kinds.add(kindAnalyze) // EXPLAIN of an ANALYZE
		}
	case inner == wFor && wordAt(s, head+1) == wConnection:
		r.kinds.add(kindExplain)
		scan.dry = true
	case inner != 0 && words[inner].kind != kindNone && words[inner].kind > lastReading:
		scan.main = head
		scan.inserts = changesRows(inner)
		if analyze {
			r.kinds.add(words[inner].kind)
			r.details(s, head)
			break
		}
		r.kinds.add(kindExplain)
		// To an engine that knows no EXPLAIN it is a procedure's name, and the
		// statement behind it runs.
		if r.any || r.implicit {
			r.kinds.add(words[inner].kind)
			r.splits()
		}
	default:
		r.refuse(faultExplain)
	}
	// The changes within what is explained are as dry as it is.
	if scan.dry && (r.any || r.implicit) && writes(s, scan.main) {
		r.kinds.add(words[s[scan.main].word].kind)
		r.splits()
	}
	return scan
}

// describes says whether s is a table's name, and possibly a column's or a
// pattern behind it.
func (r *reader) describes(s []token) bool {
	i := 0
	for {
		if i == len(s) || s[i].kind > tokenName || s[i].kind == tokenWord && words[s[i].word].starts {
			return false
		}
		i++
		if i < len(s) && s[i].kind == tokenDot {
			i++
			continue
		}
		break
	}
	return i == len(s) || i+1 == len(s) && s[i].kind <= tokenString
}

// showsDefinition says whether s is SHOW CREATE TABLE or the like, and so short
// that T-SQL could not read it as a CREATE.
func showsDefinition(s []token, head int) bool {
	if wordAt(s, head+1) != wCreate {
		return false
	}
	switch wordAt(s, head+2) {
	case wTable, wView, wProcedure, wFunction, wTrigger:
	default:
		return false
	}
	for i := head + 3; i < len(s); i++ {
		if s[i].kind > tokenName && s[i].kind != tokenDot || s[i].word != 0 {
			return false
		}
	}
	return true
}

// pragma reads SQLite's PRAGMA: [schema.]name [= value | (value)].
func (r *reader) pragma(s []token, head int) {
	i := head + 1
	if i+1 < len(s) && s[i].kind <= tokenString && s[i+1].kind == tokenDot {
		i += 2
	}
	if i >= len(s) || s[i].kind > tokenString {
		r.refuse(faultPragma)
		return
	}
	name := r.nameOf(s[i])
	queries, values := listed(pragmaQueries, name), listed(pragmaValues, name)
	bare := i+1 == len(s)
	argument := !bare && (s[i+1].kind == tokenOpen && s[len(s)-1].kind == tokenClose || r.is(s, i+1, '='))
	switch {
	case bare && (queries || values), argument && queries:
		r.kinds.add(kindPragma)
	case bare, argument:
		r.kinds.add(kindPragmaSet)
	default:
		r.refuse(faultPragma)
	}
}

// scan looks at every token of a statement for what the head does not tell.
func (r *reader) scan(s []token, how scanning) {
	depth, merges, changes := 0, false, how.inserts || !how.query
	from, on, dots := false, false, 0
	for i := range s {
		t := &s[i]
		if t.kind != tokenDot && (t.kind > tokenName || i > 0 && s[i-1].kind != tokenDot) {
			dots = 0
		}
		switch t.kind {
		case tokenDot:
			if dots++; dots == 3 && from && !on {
				r.kinds.add(kindFunction) // server.database.schema.table, on another server
			}
		case tokenComma:
			on = false
		case tokenOpen:
			depth++
			if depth > MaxDepth {
				r.refuse(faultDepth)
				return
			}
			if i > 0 && s[i-1].kind <= tokenString {
				r.function(s, i-1)
			}
		case tokenClose:
			depth--
			if depth < 0 {
				r.refuse(faultParentheses)
				return
			}
		case tokenName:
			r.table(t)
		case tokenString:
			if from { // where SQLite takes it for a name
				r.table(t)
			}
		case tokenWord:
			if t.word == 0 {
				r.table(t)
				break
			}
			if i > 0 && s[i-1].kind == tokenDot {
				break
			}
			switch t.word {
			case wFrom, wJoin:
				from, on = true, false
			case wOn:
				on = true
			case wSelect, wWhere, wBy, wHaving, wValues, wSet:
				from = false
			case wInto:
				if !how.query || how.dry || wordBefore(s, i) == wAs {
					break
				}
				if how.inserts {
					how.inserts = false
					break
				}
				r.kinds.add(kindSelectInto)
				if next := wordAt(s, i+1); next == wOutfile || next == wDumpfile {
					r.kinds.add(kindSelectIntoOutfile)
				}
			case wFor:
				r.lockingClause(s, i, how)
			case wLock:
				if how.query && !how.dry && wordAt(s, i+1) == wIn && wordAt(s, i+2) == wShare {
					r.kinds.add(kindSelectForShare)
				}
			case wUescape:
				if i > 0 && s[i-1].kind == tokenName {
					r.refuse(faultUnicode)
				}
			case wValue:
				// NEXT VALUE FOR a sequence.
				if wordBefore(s, i) == wNext && wordAt(s, i+1) == wFor {
					r.kinds.add(kindFunction)
				}
			case wMerge:
				merges = true
			}
			if words[t.word].kind != kindNone && i != how.main {
				changes = r.inner(s, i, &how, changes, merges) || changes
				if (r.any || r.implicit) && depth == 0 && i > how.main {
					r.boundary(s, i, how)
				}
			}
		}
	}
	if depth != 0 {
		r.refuse(faultParentheses)
	}
}

// lockingClause looks at a FOR.
func (r *reader) lockingClause(s []token, i int, how scanning) {
	if !how.query || how.dry {
		return
	}
	next, then := wordAt(s, i+1), wordAt(s, i+2)
	switch {
	case next == wUpdate, next == wNo && then == wKey:
		r.kinds.add(kindSelectForUpdate)
	case next == wShare, next == wKey && then == wShare:
		r.kinds.add(kindSelectForShare)
	}
}

// inner looks at a word that could begin a statement within another: behind a
// parenthesis, AS, DO, THEN and the like. It says whether it changes rows.
func (r *reader) inner(s []token, i int, how *scanning, changes, merges bool) bool {
	w := s[i].word
	before := tokenOp
	if i > 0 {
		before = s[i-1].kind
	}
	lead := wordBefore(s, i)
	dry := func(k kind) bool {
		if !how.dry {
			r.kinds.add(k)
		}
		return true
	}
	switch {
	case !changesRows(w):
		if how.query || words[w].kind <= lastReading {
			return false
		}
		if introduces(lead) {
			r.kinds.add(words[w].kind)
			r.details(s, i)
		}
		return false
	case w == wUpdate && lead == wDo, w == wUpdate && lead == wKey && wordAt(s, i-2) == wDuplicate:
		// ON CONFLICT DO UPDATE, ON DUPLICATE KEY UPDATE
		if changes {
			dry(kindUpsert)
			return dry(kindUpdate)
		}
	case w == wReplace && lead == wOr:
		// INSERT OR REPLACE, UPDATE OR REPLACE
		if changes {
			dry(kindReplace)
			return dry(kindDelete)
		}
	}
	starts := before == tokenOpen || before == tokenClose || merges && lead == wThen ||
		!how.query && (introduces(lead) || lead == wFor && s[0].word == wSet)
	if !starts || !begins(s, i) {
		return false
	}
	dry(words[w].kind)
	if w == wReplace && !how.dry {
		r.details(s, i)
	}
	how.inserts = how.inserts || w != wUpdate && w != wDelete
	return true
}

// begins says whether what follows the word at i can follow the first word of a
// statement that changes rows. Else it is a name or a function.
func begins(s []token, i int) bool {
	if i+1 == len(s) {
		return false
	}
	switch s[i+1].kind {
	case tokenClose, tokenComma, tokenDot, tokenNumber:
		return false
	case tokenOpen:
		return s[i].word != wReplace && s[i].word != wInsert
	}
	return true
}

// introduces says whether a statement can follow the word in the body of
// another that is not a query.
func introduces(w word) bool {
	switch w {
	case wAs, wDo, wThen, wElse, wBegin, wAtomic, wLoop, wAlso, wInstead, wRow, wStatement:
		return true
	}
	return false
}

// boundary looks at a word that in T-SQL begins the next statement if it
// follows a whole expression or clause, with no separator in between.
func (r *reader) boundary(s []token, i int, how scanning) {
	w := s[i].word
	if !words[w].starts || !endsOperand(s, i-1, r) || wordBefore(s, i) == wAs {
		return
	}
	lead, next := wordBefore(s, i), wordAt(s, i+1)
	head := wordAt(s, skipOpen(s, 0))
	main := wordAt(s, how.main)
	if i == how.main+1 && (main == wGrant || main == wRevoke || main == wDeny || main == wBulk) {
		return // GRANT UPDATE ON t
	}
	switch w {
	case wFetch: // OFFSET … FETCH FIRST n ROWS
		if (next == wFirst || next == wNext) && (isRow(wordAt(s, i+2)) || isRow(wordAt(s, i+3))) {
			return
		}
	case wUse: // USE INDEX (…)
		if next == wIndex || next == wKey {
			return
		}
	case wSet:
		if lead == wCharacter || main != wSelect && main != wValues && main != wTable && head != wShow && head != wPragma {
			return
		}
	case wSelect, wExec, wExecute:
		if !how.query || changesRows(main) {
			return
		}
	case wUpdate:
		if lead == wDo || lead == wKey || lead == wFor || how.triggers(s, lead) {
			return
		}
	case wDelete, wInsert:
		if how.triggers(s, lead) {
			return
		}
	case wDrop, wAlter:
		if head == wAlter && !object(next) { // ALTER TABLE t DROP COLUMN c
			return
		}
	case wIf, wBegin:
		if !how.query {
			return // DROP TABLE IF EXISTS; the body of a CREATE
		}
	}
	r.kinds.add(words[w].kind)
	r.details(s, i)
	r.splits()
}

// splits notes that a dialect without separators sees another statement here.
func (r *reader) splits() {
	if r.any {
		r.split = splitImplicit
		return
	}
	r.stacked = true
}

// triggers says whether lead, before an INSERT, UPDATE or DELETE, makes it the
// event of a CREATE TRIGGER.
func (how scanning) triggers(s []token, lead word) bool {
	return s[0].word == wCreate && (lead == wAfter || lead == wBefore || lead == wOf || lead == wFor)
}

// object says whether a word behind DROP or ALTER names what is dropped, other
// than a part of a table.
func object(w word) bool {
	switch w {
	case wTable, wView, wProcedure, wFunction, wTrigger, wSchema, wDatabase:
		return true
	}
	return false
}

func isRow(w word) bool { return w == wRow || w == wRows }

// endsOperand says whether an expression or a clause can end with the token at
// i, as T-SQL reads it.
func endsOperand(s []token, i int, r *reader) bool {
	if i < 0 {
		return false
	}
	switch t := s[i]; t.kind {
	case tokenName, tokenString, tokenNumber, tokenClose:
		return true
	case tokenWord:
		if t.word == wOn || t.word == wOff {
			return s[0].word == wSet // SET NOCOUNT ON
		}
		return !words[t.word].clause || i > 0 && s[i-1].kind == tokenDot
	case tokenOp:
		switch r.text[t.start] {
		case '*': // all columns, not a product
			return !endsOperand(s, i-1, r)
		case ':', ']', '$':
			return true
		}
	}
	return false
}

// function adds its kind if the name at i, before a parenthesis, is of a listed
// function, or its package is.
func (r *reader) function(s []token, i int) {
	if reachingFunction(r.nameOf(s[i])) {
		r.kinds.add(kindFunction)
		return
	}
	for ; i >= 2 && s[i-1].kind == tokenDot && s[i-2].kind <= tokenName; i -= 2 {
		if owner := r.nameOf(s[i-2]); len(owner) > 4 && reachingFunction(owner) {
			r.kinds.add(kindFunction)
			return
		}
	}
}

// table adds a kind for the tables that act like a function or a pragma.
func (r *reader) table(t *token) {
	name := r.nameOf(*t)
	if len(name) < len("fsdir") {
		return
	}
	switch name[0] | 0x20 {
	case 'f', 'l':
		if spellsFold(name, "fsdir") || spellsFold(name, "lsdir") {
			r.kinds.add(kindFunction)
		}
	case 'p':
		if pragmaTable(name) {
			r.kinds.add(kindPragmaSet)
		}
	}
}

// nameOf is the text of a token as a name: without the quotes of a literal that
// stands where a name may.
func (r *reader) nameOf(t token) string {
	text := r.text[t.start:t.end]
	if t.kind == tokenString && len(text) >= 2 && text[0] == '\'' {
		return text[1 : len(text)-1]
	}
	return text
}

// spells says whether a token, quoted or not, is that name.
func (r *reader) spells(t token, name string) bool {
	return t.kind <= tokenString && strings.EqualFold(r.nameOf(t), name)
}

// is says whether the token at i is that character.
func (r *reader) is(s []token, i int, c byte) bool {
	return i < len(s) && s[i].kind == tokenOp && r.text[s[i].start] == c
}

// skipOpen returns the index of the first token from i on that is no opening
// parenthesis.
func skipOpen(s []token, i int) int {
	for i < len(s) && s[i].kind == tokenOpen {
		i++
	}
	return i
}

// wordAt is the keyword at i, or 0.
func wordAt(s []token, i int) word {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i].word
}

// wordBefore is the keyword before i, or 0.
func wordBefore(s []token, i int) word { return wordAt(s, i-1) }
