package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/derive/sql"
)

// defaultDenyStatements are denied where deny_statements is not given.
var defaultDenyStatements = []string{"DROP", "DELETE", "TRUNCATE", "ALTER", "GRANT", "REVOKE", "UPDATE"}

// queryRule is sql_query. Only reading is allowed unless allow_readonly_only is
// false; what deny_statements lists is denied in any case.
type queryRule struct {
	deny     []string // upper case
	readOnly bool
	dialect  string
}

func newQueryRule(m *section, fail failFunc) *queryRule {
	r := &queryRule{deny: defaultDenyStatements, readOnly: true}
	if v, ok := m.values["dialect"]; ok {
		d, err := sql.ParseDialect(v.text)
		if err != nil || d == sql.Any {
			fail(entry{v.text, v.line, v.column}, v.text, "`dialect` %s is none of %s", quoted(v.text), dialectNames())
		}
		r.dialect = string(d)
	}
	if v, ok := m.values["allow_readonly_only"]; ok {
		r.readOnly = v.flag
	}
	if v, ok := m.values["deny_statements"]; ok {
		r.deny = nil
		for _, e := range v.list {
			kind := strings.ToUpper(e.text)
			if !slices.Contains(sql.Kinds(), kind) {
				fail(e, e.text, "%s in `deny_statements` is no kind of statement that is known%s", quoted(e.text), nearKind(e.text))
			}
			r.deny = append(r.deny, kind)
		}
	}
	return r
}

// nearKind is the question after a kind that was probably meant.
func nearKind(text string) string {
	var kinds []string
	for _, k := range sql.Kinds() {
		kinds = append(kinds, strings.ToLower(k))
	}
	if near := nearest(text, kinds); near != "" {
		return "; did you mean `" + strings.ToUpper(near) + "`?"
	}
	return ""
}

func dialectNames() string {
	var names []string
	for _, d := range sql.Dialects() {
		names = append(names, string(d))
	}
	return strings.Join(names, ", ")
}

// judge decides on a query that was not understood, too: what can be told of it
// may be reason enough.
func (r *queryRule) judge(p *derive.Param) finding {
	q := &p.Query
	if q.Stacked && !slices.Equal(q.Kinds, []string{sql.Unknown}) { // what is no statement at all is not two of them
		return denied(CodeSQLStacked, "", "the query holds more than one statement")
	}
	for _, kind := range q.Kinds {
		if slices.Contains(r.deny, kind) {
			f := denied(CodeSQLDeny, "deny_statements", fmt.Sprintf("statement %s is in deny_statements", kind))
			f.entry = kind
			return f
		}
	}
	if p.Fault != derive.None {
		return denied(CodeArgAmbiguous, "", ambiguous(p))
	}
	if r.readOnly {
		for _, kind := range q.Kinds {
			if !derive.ReadOnlyKind(kind) {
				return denied(CodeSQLDeny, "allow_readonly_only", fmt.Sprintf("statement %s is not read-only", kind))
			}
		}
	}
	return allowed()
}
