package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// The kinds of warning about the argument half.
const (
	LintVersion      WarningCode = "POL-LINT-VERSION"        // `version` is not given
	LintConflict     WarningCode = "POL-LINT-CONFLICT"       // a path, host or network both allowed and denied
	LintEmptyAllow   WarningCode = "POL-LINT-EMPTY-ALLOW"    // an allow list without an entry: nothing is allowed
	LintNever        WarningCode = "POL-LINT-NEVER-MATCHES"  // an entry that can match nothing
	LintNoEffect     WarningCode = "POL-LINT-NO-EFFECT"      // a constraint that another one makes idle
	LintReplaced     WarningCode = "POL-LINT-REPLACED"       // a deny of the defaults that a tool's own list drops
	LintExample      WarningCode = "POL-LINT-EXAMPLE"        // a name that looks as if a pattern had it, and has not
	LintUnpinned     WarningCode = "POL-LINT-UNPINNED"       // a binding without schema_hash
	LintOrphanTool   WarningCode = "POL-LINT-ORPHAN-TOOL"    // a tool that the lock does not have
	LintShape        WarningCode = "POL-LINT-SHAPE-MISMATCH" // a shape that the tool does not have in the lock
	LintUnjudged     WarningCode = "POL-LINT-UNCONSTRAINED"  // a shape of the lock that the file constrains nowhere
	LintSchemaHash   WarningCode = "POL-LINT-SCHEMA-HASH"    // a binding pinned to another schema than the lock has
	LintUnknownArg   WarningCode = "POL-LINT-UNKNOWN-ARG"    // an argument that the tool does not have in the lock
	LintUnclassified WarningCode = "POL-LINT-UNCLASSIFIED"   // an argument in the lock that the binding does not name
)

type warnFunc func(line, column int, code WarningCode, format string, a ...any)

// lint warns of what can be seen in the file alone.
func (h *argumentHalf) lint(s *Set, warn warnFunc) {
	if !s.versioned {
		warn(1, 1, LintVersion, "`version` is not given: it is taken for 1")
	}
	for _, name := range h.toolNames() {
		if strings.ContainsAny(name, "*?") {
			warn(h.line, 1, NotAPattern, "tool %s is compared as it stands; there are no patterns in names of tools", quoted(name))
		}
	}
	h.eachSection(func(where string, sh shape.Shape, sec *section) {
		lintSection(where, sh, sec, warn)
	})
	for _, name := range sortedKeys(h.tools) {
		for _, sh := range shape.All() {
			if own, base := h.tools[name].sections[sh], h.defaults[sh]; own != nil && base != nil {
				lintReplaced(name, sh, own, base, warn)
			}
		}
	}
	for _, name := range sortedKeys(h.bindings) {
		if b := h.bindings[name]; b.schemaHash == "" {
			warn(b.line, 1, LintUnpinned, "the binding of %s is not pinned: add `schema_hash`, which `aegis policy bind` prints", quoted(name))
		}
	}
}

// eachSection calls each for every section of the file.
func (h *argumentHalf) eachSection(each func(where string, sh shape.Shape, sec *section)) {
	for _, sh := range shape.All() {
		if sec := h.defaults[sh]; sec != nil {
			each("defaults."+sh.Key(), sh, sec)
		}
	}
	for _, name := range sortedKeys(h.tools) {
		for _, sh := range shape.All() {
			if sec := h.tools[name].sections[sh]; sec != nil {
				each("tools."+name+"."+sh.Key(), sh, sec)
			}
		}
	}
}

// allowLists are the lists of which an empty one allows nothing, and the denies
// that beat them.
var allowLists = [...]struct{ allow, deny string }{{"allow_paths", "deny_paths"}, {"allow_commands", ""}, {"allow_hosts", ""}, {"allow_cidrs", "deny_cidrs"}}

func lintSection(where string, sh shape.Shape, sec *section, warn warnFunc) {
	for _, l := range allowLists {
		allow, ok := sec.values[l.allow]
		if !ok {
			continue
		}
		if len(allow.list) == 0 && l.allow != "allow_cidrs" {
			warn(allow.line, 1, LintEmptyAllow, "%s: `%s` is empty: nothing is allowed", where, l.allow)
		}
		for _, e := range allow.list {
			if slices.ContainsFunc(sec.values[l.deny].list, func(d entry) bool { return strings.EqualFold(d.text, e.text) }) {
				warn(e.line, e.column, LintConflict, "%s: %s stands in both `%s` and `%s`; the deny wins", where, quoted(e.text), l.allow, l.deny)
			}
		}
	}
	switch sh {
	case shape.FilesystemWrite, shape.FilesystemRead:
		lintPaths(where, sec, warn)
	case shape.ShellExec:
		for _, e := range sec.values["allow_commands"].list {
			if strings.ContainsAny(e.text, " \t") {
				warn(e.line, e.column, LintNever, "%s: %s never matches: the first word of a command line is compared, and has no blanks", where, quoted(e.text))
			}
		}
		if list, ok := sec.values["allow_commands"]; ok && !sec.values["allow"].flag {
			if _, given := sec.values["allow"]; given {
				warn(list.line, 1, LintNoEffect, "%s: `allow_commands` does nothing: `allow` is false", where)
			}
		}
	case shape.HTTPRequest:
		private, given := sec.values["deny_private"]
		if list, ok := sec.values["allow_cidrs"]; ok && given && !private.flag {
			warn(list.line, 1, LintNoEffect, "%s: `allow_cidrs` does nothing: `deny_private` is false", where)
		}
		if u, ok := sec.values["allow_unresolved"]; ok {
			if _, listed := sec.values["allow_hosts"]; listed {
				warn(u.line, 1, LintNoEffect, "%s: `allow_unresolved` does nothing: `allow_hosts` decides which names are allowed", where)
			}
		}
	}
}

func lintPaths(where string, sec *section, warn warnFunc) {
	for _, key := range []string{"allow_paths", "deny_paths"} {
		for _, e := range sec.values[key].list {
			g, err := derive.ParseGlob(e.text)
			if err != nil {
				continue // an error already
			}
			if why := g.Never(); why != "" {
				warn(e.line, e.column, LintNever, "%s: %s never matches a path: %s", where, quoted(e.text), why)
				continue
			}
			if key == "deny_paths" && strings.HasSuffix(path.Base(e.text), ".env") && !deniesAny(sec, dotEnvLocal) {
				warn(e.line, e.column, LintExample, "%s: %s does not match %s; if that is meant, add a pattern for it", where, quoted(e.text), quoted(dotEnvLocal))
			}
		}
	}
}

// dotEnvLocal is a name that an author may think a deny of .env or *.env covers.
const dotEnvLocal = ".env.local"

func deniesAny(sec *section, name string) bool {
	return slices.ContainsFunc(sec.values["deny_paths"].list, func(e entry) bool {
		g, err := derive.ParseGlob(e.text)
		return err == nil && (g.MatchFold(name) || g.MatchFold("/"+name))
	})
}

// lintReplaced warns of denies that hold by default and not for a tool.
func lintReplaced(tool string, sh shape.Shape, own, base *section, warn warnFunc) {
	for _, key := range []string{"deny_paths", "deny_cidrs", "deny_statements"} {
		mine, ok := own.values[key]
		if !ok {
			continue
		}
		for _, e := range base.values[key].list {
			if !slices.Contains(mine.texts(), e.text) {
				warn(mine.line, 1, LintReplaced, "tools.%s.%s: `%s` takes the place of the one in `defaults`: %s of line %d is not denied here", tool, sh.Key(), key, quoted(e.text), e.line)
			}
		}
	}
}

// LintAgainst warns of what does not fit the tools of a lock.
func (s *Set) LintAgainst(surface *Surface) []Warning {
	h := s.arguments
	if h == nil {
		return nil
	}
	var out []Warning
	warn := func(line, column int, code WarningCode, format string, a ...any) {
		out = append(out, Warning{s.name, line, column, code, fmt.Sprintf(format, a...)})
	}
	for _, name := range sortedKeys(h.tools) {
		t := h.tools[name]
		locked, ok := surface.Tool(name)
		if !ok {
			warn(t.line, 1, LintOrphanTool, "tool %s is not in the lock", quoted(name))
			continue
		}
		for _, sh := range shape.All() {
			if sec := t.sections[sh]; sec != nil && !surface.shapes[name].Has(sh) && !h.bindings[name].binds(sh) {
				warn(sec.line, 1, LintShape, "tool %s has no %s in the lock (it has %s); its calls are refused if no argument supplies one", quoted(name), sh.Key(), shapeList(surface.shapes[name]))
			}
		}
		for _, sh := range shape.All() {
			if sec := t.sections[sh]; sec != nil {
				if arg, ok := sec.values[argKeys[sh]]; ok && !locked.has(derive.Pointer(arg.text)) {
					warn(arg.line, 1, LintUnknownArg, "tool %s has no argument %s in the lock", quoted(name), quoted(arg.text))
				}
			}
		}
	}
	for _, name := range sortedKeys(h.bindings) {
		b := h.bindings[name]
		locked, ok := surface.Tool(name)
		if !ok {
			if _, told := h.tools[name]; !told {
				warn(b.line, 1, LintOrphanTool, "tool %s is not in the lock", quoted(name))
			}
			continue
		}
		if b.schemaHash != "" && b.schemaHash != locked.InputSchemaHash {
			warn(b.hashLine, 1, LintSchemaHash, "the binding of %s is pinned to another input schema: its calls are refused; look at the tool again and run `aegis policy bind`", quoted(name))
		}
		for _, a := range b.arguments {
			if !locked.has(derive.Pointer(a.arg)) {
				warn(a.line, 1, LintUnknownArg, "tool %s has no argument %s in the lock", quoted(name), quoted(a.arg))
			}
		}
		for _, p := range locked.pointers() {
			if b.roleOf(p, shape.FilesystemWrite) == unnamed {
				warn(b.line, 1, LintUnclassified, "the binding of %s does not name its argument %s, which is judged by its name", quoted(name), quoted(p))
			}
		}
	}
	for _, name := range sortedKeys(surface.tools) {
		if h.bindings[name] != nil {
			continue
		}
		for _, sh := range surface.shapes[name].Shapes() {
			if t := h.of(name); t.lines[sh] == 0 {
				warn(h.line, 1, LintUnjudged, "tool %s has %s in the lock, which the file constrains nowhere: the built-in defaults hold", quoted(name), sh.Key())
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Warning) int { return a.Line - b.Line })
	return out
}

func (b *binding) binds(sh shape.Shape) bool {
	return b != nil && slices.ContainsFunc(b.plan.Bound, func(a derive.Bound) bool { return a.Shape == sh })
}

func shapeList(set shape.Set) string {
	var keys []string
	for _, s := range set.Shapes() {
		keys = append(keys, s.Key())
	}
	if keys == nil {
		return "none"
	}
	return strings.Join(keys, ", ")
}

// pointers are the arguments of a tool that hold a value of their own: JSON
// pointers without indices.
func (t *ToolSurface) pointers() []string {
	var out []string
	for _, p := range t.Properties {
		if ptr := p.pointer(); ptr != "" && !slices.Contains(out, ptr) {
			out = append(out, ptr)
		}
	}
	// An object is as good as its members.
	return slices.DeleteFunc(out, func(ptr string) bool {
		return slices.ContainsFunc(out, func(o string) bool { return strings.HasPrefix(o, ptr+"/") })
	})
}

func (t *ToolSurface) has(pointer string) bool {
	return slices.ContainsFunc(t.Properties, func(p Property) bool { return p.pointer() == pointer })
}
