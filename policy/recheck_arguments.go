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
			switch now.counts(t, tool, &p) {
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
	valued      shape.Set // shapes of which the record has a value
	complete    bool      // the record holds all that is looked at for certain
}

type answer uint8

const (
	no answer = iota
	perhaps
	yes
)

// reread works out the shapes of a recorded Call by the names in its record.
// Whether it had an argument that says what is written is not in there, nor
// whether one without a value was there at all, which leaves some shapes open.
func (t *toolRules) reread(tool string, entries []aar.Derived, locked bool) rereading {
	r := rereading{complete: true}
	var recorded shape.Set
	var props []shape.Property
	maybe := []shape.Property{{Name: "content", Text: true}}
	held := make(map[string]shape.Set)  // by pointer
	there := make(map[string]shape.Set) // those that have a value
	for i := range entries {
		d := &entries[i]
		s, ok := shape.ByAxis(d.Axis)
		if !ok {
			continue
		}
		recorded = recorded.With(s)
		held[d.Arg] = held[d.Arg].With(s)
		prop := shape.Property{Name: memberName(d.Arg), Text: true}
		if p, _ := derive.Recall(d); p.Fault == derive.Missing {
			maybe = append(maybe, prop)
			continue
		}
		props = append(props, prop)
		there[d.Arg] = there[d.Arg].With(s)
		r.valued = r.valued.With(s)
	}
	// An argument that the policy names gives the tool its shape, if it is there.
	given, perhaps := t.armed, t.armed
	for _, s := range shape.All() {
		if named := t.plan.Named[s]; named != "" {
			perhaps = perhaps.With(s)
			if heldAt(there, named) != 0 {
				given = given.With(s)
			}
		}
	}
	switch {
	case locked: // it was the lock that said what the tool does
		r.least, r.most = derive.Join(given, recorded), derive.Join(perhaps, recorded)
	case t.binding != nil:
		r.least, r.most = given, perhaps
	default:
		r.least, r.most = derive.Join(given, shape.Recognise(tool, props)), derive.Join(perhaps, shape.Recognise(tool, append(maybe, props...)))
		if given == perhaps && len(maybe) == 1 && recorded.Has(shape.FilesystemRead) && !recorded.Has(shape.FilesystemWrite) {
			r.most = r.least // it would have been written, too, had there been one
		}
	}
	if r.least&^recorded != 0 {
		r.complete = false
	}
	for pointer, has := range there {
		if t.binding == nil && derive.Axes(tool, memberName(pointer), r.least)&^has != 0 {
			r.complete = false
		}
	}
	for _, s := range shape.All() {
		if named := t.plan.Named[s]; named != "" && !heldAt(held, named).Has(s) {
			r.complete = false
		}
		if t.binding == nil || !r.least.Has(s) {
			continue
		}
		bound, found := false, held[""].Has(s)
		for _, b := range t.binding.plan.Bound {
			if b.Shape == s {
				bound, found = true, found || heldAt(held, b.Pointer).Has(s)
			}
		}
		if bound && !found {
			r.complete = false
		}
	}
	return r
}

// heldAt has the shapes that a record has at a pointer, whatever the indices.
func heldAt(held map[string]shape.Set, pointer string) (all shape.Set) {
	for at, has := range held {
		if withoutIndices(at) == withoutIndices(pointer) {
			all |= has
		}
	}
	return all
}

// counts reports whether a recorded parameter is one that t derives.
func (r *rereading) counts(t *toolRules, tool string, p *derive.Param) answer {
	s := p.Shape
	both := r.least.Has(s) && r.most.Has(s)
	switch {
	case p.Arg == "" || p.Fault == derive.Missing:
		// It had no value, or was not there. If this policy is sure to want one, and
		// there is none, that is a refusal either way.
		if both && r.complete && !r.valued.Has(s) {
			return yes
		}
		return perhaps
	case t.binding != nil && t.binding.roleOf(p.Arg, s) == setAside && t.plan.Named[s] == "":
		return no
	case !both:
		return perhaps
	}
	pointer := withoutIndices(p.Arg)
	if named := t.plan.Named[s]; named != "" && withoutIndices(named) == pointer {
		return yes
	}
	if t.binding != nil {
		if t.binding.roleOf(p.Arg, s) == inForce {
			return yes
		}
		return perhaps // read by its name, which counts for less beside a binding
	}
	name := memberName(p.Arg)
	if (derive.Axes(tool, name, r.least) & derive.Axes(tool, name, r.most)).Has(s) {
		return yes
	}
	// Another policy had it read so. Its value stood for one that was looked for
	// under other names, of which the record then says nothing.
	return perhaps
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
// Its first step is none: the arguments are an object.
func withoutIndices(pointer string) string {
	if !strings.ContainsAny(pointer, "0123456789") {
		return pointer
	}
	steps := strings.Split(pointer, "/")
	kept := steps[:min(2, len(steps))]
	for _, s := range steps[len(kept):] {
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
