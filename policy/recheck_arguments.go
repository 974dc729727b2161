package policy

import (
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// again is what the argument half says of a recorded Call.
type again struct {
	denied *Finding
	why    string // why it cannot be said, where nothing is refused for certain
}

// judgeAgain decides by what a record holds of the arguments. What refuses for
// certain refuses, whatever else cannot be decided.
//
// The same policy reads the same arguments the same way. Another one may read
// others: then an entry counts only if this policy is sure to derive it, and
// the record must hold whatever this policy is sure to look at.
func (h *argumentHalf) judgeAgain(tool string, out *outcomeReader, same bool) (a again) {
	var entries []aar.Derived
	if len(out.derived) == 0 || out.derived[0] != '[' || json.Unmarshal(out.derived, &entries) != nil {
		return again{why: NoBinding} // nobody derived anything, or not so that it can be read
	}
	t := h.of(tool)
	undecided := func(why string) {
		if a.why == "" {
			a.why = why
		}
	}
	var now rereading
	if !same {
		now = t.reread(tool, entries, out.locked)
		if !now.complete {
			undecided(NoBinding)
		}
	}
	for i := range entries {
		d := &entries[i]
		p, unable := derive.Recall(d)
		if _, known := shape.ByAxis(d.Axis); !known && unable == derive.Decidable {
			undecided(NoBinding)
			continue
		}
		if unable != derive.Decidable {
			undecided(string(unable))
			continue
		}
		if !same {
			switch now.counts(t, tool, d, p.Shape) {
			case no:
				continue
			case perhaps:
				undecided(NoBinding)
				continue
			}
			switch {
			case p.Shape == shape.SQLQuery && p.Fault != derive.Missing && d.Dialect != t.plan.Dialect:
				undecided(OtherDialect)
				continue
			case d.PathRaw != "" && (d.Resolved == derive.AtDecision) != t.plan.Resolve.Has(p.Shape):
				undecided(OtherResolve)
				continue
			}
		}
		if f := t.finding(&p); f.Denied {
			a.denied = &f
			return a
		}
	}
	return a
}

// rereading is what a policy would look at in a Call that another one decided.
type rereading struct {
	least, most shape.Set // shapes the tool has at the least and at the most
	complete    bool      // the record holds all that is looked at for certain
}

type answer uint8

const (
	no answer = iota
	perhaps
	yes
)

// reread works out the shapes of a recorded Call by the names in its record.
// Whether it had an argument that says what is written is not in there, which
// leaves open whether an unnamed tool writes.
func (t *toolRules) reread(tool string, entries []aar.Derived, locked bool) rereading {
	var recorded shape.Set
	var props []shape.Property
	held := make(map[string]shape.Set) // by pointer
	for i := range entries {
		s, ok := shape.ByAxis(entries[i].Axis)
		if !ok {
			continue
		}
		recorded = recorded.With(s)
		held[entries[i].Arg] = held[entries[i].Arg].With(s)
		if name := memberName(entries[i].Arg); name != "" && t.binding.roleOf(entries[i].Arg, s) != setAside {
			props = append(props, shape.Property{Name: name, Text: true})
		}
	}
	r := rereading{complete: true}
	switch {
	case locked: // it was the lock that said what the tool does
		r.least = derive.Join(t.armed, recorded)
		r.most = r.least
	case t.binding != nil:
		r.least = t.armed
		r.most = r.least
	default:
		r.least = derive.Join(t.armed, shape.Recognise(tool, props))
		r.most = derive.Join(t.armed, shape.Recognise(tool, append(props, shape.Property{Name: "content", Text: true})))
		if recorded.Has(shape.FilesystemRead) && !recorded.Has(shape.FilesystemWrite) {
			r.most = r.least // it would have been written, too, had there been one
		}
	}
	if r.least&^recorded != 0 {
		r.complete = false
	}
	for pointer, has := range held {
		if pointer == "" {
			continue
		}
		if t.binding == nil && derive.Axes(tool, memberName(pointer), r.least)&^has != 0 {
			r.complete = false
		}
	}
	for _, s := range r.least.Shapes() {
		if named := t.plan.Named[s]; named != "" && !t.heldAt(held, s, named) {
			r.complete = false
		}
		if t.binding == nil {
			continue
		}
		bound, found := false, held[""].Has(s)
		for _, b := range t.binding.plan.Bound {
			if b.Shape == s {
				bound, found = true, found || t.heldAt(held, s, b.Pointer)
			}
		}
		if bound && !found {
			r.complete = false
		}
	}
	return r
}

func (t *toolRules) heldAt(held map[string]shape.Set, s shape.Shape, pointer string) bool {
	for at, has := range held {
		if has.Has(s) && withoutIndices(at) == withoutIndices(pointer) {
			return true
		}
	}
	return false
}

// counts reports whether a recorded parameter is one that t derives.
func (r *rereading) counts(t *toolRules, tool string, d *aar.Derived, s shape.Shape) answer {
	switch {
	case d.Arg == "" && r.complete && r.least.Has(s) && r.most.Has(s):
		return yes
	case d.Arg == "":
		return perhaps // by a name that is not recorded; or it is where the other did not look
	case !r.most.Has(s) && !r.least.Has(s):
		return no
	case !r.most.Has(s) || !r.least.Has(s):
		return perhaps
	}
	pointer := withoutIndices(d.Arg)
	if named := t.plan.Named[s]; named != "" && withoutIndices(named) == pointer {
		return yes
	}
	if t.binding != nil {
		switch t.binding.roleOf(d.Arg, s) {
		case inForce:
			return yes
		case setAside:
			return no
		}
		return perhaps // read by its name, which counts for less beside a binding
	}
	if (derive.Axes(tool, memberName(d.Arg), r.least) & derive.Axes(tool, memberName(d.Arg), r.most)).Has(s) {
		return yes
	}
	return no
}

type bindingRole uint8

const (
	inForce  bindingRole = iota // it has the argument supply the axis
	setAside                    // it has the argument supply something else, or nothing
	unnamed                     // it does not name the argument, or there is no binding
)

// roleOf says what a binding makes of a recorded parameter.
func (b *binding) roleOf(arg string, s shape.Shape) bindingRole {
	if b == nil {
		return unnamed
	}
	pointer, role := withoutIndices(arg), unnamed
	for _, bound := range b.plan.Bound {
		if withoutIndices(bound.Pointer) == pointer {
			if bound.Shape == s {
				return inForce
			}
			role = setAside
		}
	}
	for _, other := range b.plan.Other {
		if other = withoutIndices(other); pointer == other || strings.HasPrefix(pointer, other+"/") {
			return setAside
		}
	}
	return role
}

// withoutIndices leaves out of a JSON pointer what may be the place in a list.
func withoutIndices(pointer string) string {
	if !strings.ContainsAny(pointer, "0123456789") {
		return pointer
	}
	steps := strings.Split(pointer, "/")
	kept := steps[:0]
	for _, s := range steps {
		if s == "" || strings.Trim(s, "0123456789") != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "/")
}

var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// memberName is the member that a value at a pointer is called by.
func memberName(pointer string) string {
	pointer = withoutIndices(pointer)
	return pointerUnescapes.Replace(pointer[strings.LastIndexByte(pointer, '/')+1:])
}
