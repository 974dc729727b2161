package sql

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
