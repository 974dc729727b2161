package sql

// scanning says how the tokens of a statement are looked at.
type scanning struct {
	main    int  // index of the word that decides, before which no statement ends
	query   bool // it can hold a SELECT's clauses; else the head's kind says it all but for what follows AS, DO …
	dry     bool // it is explained, not run
	inserts bool // the next INTO is that of an INSERT
	head    word // the first one; set by scan
}

// scan looks at every token of a statement for what the head does not tell.
func (r *reader) scan(s []token, how scanning) {
	how.head = wordAt(s, skipOpen(s, 0))
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
				if i > 0 && s[i-1].kind == tokenDot && r.spells(*t, "nextval") {
					r.kinds.add(kindFunction) // of a sequence
				}
				break
			}
			if i > 1 && s[i-1].kind == tokenDot && s[i-2].kind != tokenNumber {
				break // a name, since it is qualified
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
					r.boundary(s, i, &how)
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
		// INSERT OR REPLACE, UPDATE OR REPLACE; not CREATE OR REPLACE
		if changesRows(wordAt(s, i-2)) {
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

// function adds its kind if the name at i, before a parenthesis, is of a listed
// function, or its package is.
func (r *reader) function(s []token, i int) {
	if reachingFunction(r.nameOf(s[i])) {
		r.kinds.add(kindFunction)
		return
	}
	for ; i >= 2 && s[i-1].kind == tokenDot && s[i-2].kind <= tokenName; i -= 2 {
		if reachingOwner(r.nameOf(s[i-2])) {
			r.kinds.add(kindFunction)
			return
		}
	}
}

// table adds a kind for the names that act where no parenthesis follows: tables
// that are a function or a pragma, and hints.
func (r *reader) table(t *token) {
	name := r.nameOf(*t)
	if len(name) < len("fsdir") {
		return
	}
	switch name[0] | 0x20 {
	case 'u', 'x', 't':
		// T-SQL's hints that lock rows for a change.
		if t.kind == tokenWord && (spellsFold(name, "updlock") || spellsFold(name, "xlock") || spellsFold(name, "tablockx")) {
			r.kinds.add(kindSelectForUpdate)
		}
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
