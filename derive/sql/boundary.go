package sql

// boundary looks at a word that in T-SQL begins the next statement if it
// follows a whole expression or clause, with no separator in between.
func (r *reader) boundary(s []token, i int, how *scanning) {
	w := s[i].word
	if !words[w].starts || !r.endsOperand(s, i-1) || wordBefore(s, i) == wAs {
		return
	}
	lead, next := wordBefore(s, i), wordAt(s, i+1)
	head := how.head
	main := wordAt(s, how.main)
	if i == how.main+1 && (main == wGrant || main == wRevoke || main == wDeny || main == wBulk) {
		return // GRANT UPDATE ON t
	}
	switch w {
	case wFetch: // OFFSET … FETCH FIRST n ROWS
		if (next == wFirst || next == wNext) && (isRow(wordAt(s, i+2)) || isRow(wordAt(s, i+3))) {
			return
		}
	case wEnable, wDisable:
		if head == wAlter || next != wTrigger {
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
	how.main, how.inserts = i, w == wInsert || w == wMerge
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
func (r *reader) endsOperand(s []token, i int) bool {
	// A star is a product behind an operand, and all columns behind none.
	stars := 0
	for r.is(s, i, '*') {
		stars++
		i--
	}
	return r.endsTerm(s, i) == (stars%2 == 0)
}

// endsTerm is endsOperand for all but stars.
func (r *reader) endsTerm(s []token, i int) bool {
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
		case ':', ']', '$':
			return true
		case '@', '#': // a variable or table of that name alone
			return t.end != s[i+1].start
		}
	}
	return false
}
