package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/derive"
	"github.com/aegis-aar/aegis/internal/shape"
)

// ProposeBindings proposes the `bindings` of a policy file for the tools of a
// lock, as YAML. It classifies every argument of every tool: by the shapes of the
// tool and its own name it is bound to an axis, or it stands among those that
// are none of a path, a URL, a command and a query. An argument that might be a
// text of either kind is marked by a comment. It is a proposal: the authority is
// the human's who keeps it in the file.
func ProposeBindings(tools []ToolSurface) string {
	var b strings.Builder
	b.WriteString("# Proposed from names. Check every line: a path under `other` is judged by no one.\nbindings:")
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b ToolSurface) int { return strings.Compare(a.Name, b.Name) })
	if len(tools) == 0 {
		b.WriteString(" {}")
	}
	b.WriteByte('\n')
	for i := range tools {
		tools[i].propose(&b)
	}
	return b.String()
}

func (t *ToolSurface) propose(b *strings.Builder) {
	fmt.Fprintf(b, "  %s:\n", yamlText(t.Name))
	if schemaHashOK().MatchString(t.InputSchemaHash) {
		fmt.Fprintf(b, "    schema_hash: %s\n", t.InputSchemaHash)
	}
	shapes := t.Shapes()
	var bound, other []string
	for _, ptr := range t.pointers() {
		p := t.property(ptr)
		axes := axesOf(p, t.Name, shapes)
		if len(axes) == 0 {
			other = append(other, yamlText(argText(ptr)))
			continue
		}
		for _, s := range axes {
			bound = append(bound, fmt.Sprintf("      - {arg: %s, axis: %s}\n", yamlText(argText(ptr)), s.Axis()))
		}
	}
	if len(bound) == 0 {
		b.WriteString("    arguments: []")
		if shapes != 0 {
			fmt.Fprintf(b, " # its name or its capabilities say %s, and no argument supplies it", shapeList(shapes))
		}
		b.WriteByte('\n')
	} else {
		b.WriteString("    arguments:\n" + strings.Join(bound, ""))
	}
	if len(other) > 0 {
		fmt.Fprintf(b, "    other: [%s]\n", strings.Join(other, ", "))
	}
}

// axesOf are the shapes an argument of a tool supplies, by its name.
func axesOf(p *Property, tool string, shapes shape.Set) []shape.Shape {
	if !p.text() {
		return nil
	}
	return derive.Axes(tool, p.name(), shapes).Shapes()
}

func (t *ToolSurface) property(pointer string) *Property {
	for i := range t.Properties {
		if t.Properties[i].pointer() == pointer && (t.Properties[i].text() || i+1 == len(t.Properties) || t.Properties[i+1].pointer() != pointer) {
			return &t.Properties[i]
		}
	}
	return nil
}

// argText is how a policy names the argument at a pointer: by its name alone
// where that is enough.
func argText(pointer string) string {
	name := pointer[1:]
	if strings.ContainsAny(name, "/~") {
		return pointer
	}
	return name
}
