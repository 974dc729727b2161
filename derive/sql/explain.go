package sql

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
		if (r.any || r.implicit) && words[inner].starts {
			r.kinds.add(words[inner].kind)
			r.splits()
		}
	default:
		r.refuse(faultExplain)
	}
	// The changes within what is explained are as dry as it is.
	if scan.dry && (r.any || r.implicit) && writes(s, scan.main) && words[s[scan.main].word].starts {
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
