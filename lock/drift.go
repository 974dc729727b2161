package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aegis-aar/aegis/internal/report"
)

// Classes of drift, and what each of them is worth.
var severities = map[string]string{
	"server-identity": report.Critical,

	"tool-added":                report.High,
	"tool-removed":              report.Medium,
	"capability-added":          report.High,
	"capability-removed":        report.Medium,
	"description-modified":      report.Low,
	"tool-annotations-modified": report.High,
	"definition-modified":       report.Medium,
	"instructions-modified":     report.Medium,

	"schema-required-removed":             report.High,
	"schema-property-removed":             report.Medium,
	"schema-required-unconstrained-added": report.High,
	"schema-required-added":               report.Medium,
	"schema-unconstrained-added":          report.High,
	"schema-property-added":               report.Low,
	"schema-type-broadened":               report.High,
	"schema-type-narrowed":                report.Low,
	"schema-type-changed":                 report.Medium,
	"schema-enum-widened":                 report.High,
	"schema-enum-narrowed":                report.Low,
	"schema-enum-removed":                 report.High,
	"schema-enum-added":                   report.Low,
	"schema-constraint-relaxed":           report.Medium,
	"schema-constraint-tightened":         report.Low,
	"schema-additional-props-opened":      report.High,
	"schema-cosmetic-modified":            report.Low,
	"schema-modified":                     report.High,
	"schema-out-added":                    report.High,
	"schema-out-removed":                  report.High,
	"schema-out-modified":                 report.High,
	"schema-version-migrated":             report.Low,

	"inspection-policy-modified": report.Medium,
	"unapproved-change":          report.High,

	"resource-added":    report.Medium,
	"resource-removed":  report.Low,
	"resource-modified": report.Low,
	"prompt-added":      report.Medium,
	"prompt-removed":    report.Low,
	"prompt-modified":   report.Low,
}

// Classes are the classes of drift in alphabetical order.
func Classes() []string {
	classes := make([]string, 0, len(severities))
	for class := range severities {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	return classes
}

// SeverityOf is the severity of a class of drift, empty if there is no such class.
func SeverityOf(class string) string { return severities[class] }

// RuleOf is the rule id of a class of drift.
func RuleOf(class string) string { return "WRD-DRIFT-" + strings.ToUpper(class) }

func drift(class, target, message, detail string) Drift {
	severity, ok := severities[class]
	if !ok {
		panic("lock: no class of drift " + class)
	}
	return Drift{Class: class, Severity: severity, Rule: RuleOf(class), Target: target, Message: message, Detail: detail}
}

// Compare tells in what facts the surface of current differs from that of
// pinned, by target and class. There is none exactly if the overall digests are
// equal. Locks of two levels are compared in what both pin.
func Compare(pinned, current *Lock) []Drift {
	if pinned.OverallDigest == current.OverallDigest {
		return nil
	}
	level := min(pinned.SchemaVersion, current.SchemaVersion)
	var drifts []Drift
	add := func(class, target, message string) {
		drifts = append(drifts, drift(class, target, message, ""))
	}
	if pinned.Server.CommandDigest != current.Server.CommandDigest {
		add("server-identity", targetLaunch, "Server launch command or address changed since pin")
	}
	if pinned.SchemaVersion != current.SchemaVersion {
		add("schema-version-migrated", "lock/schema_version",
			fmt.Sprintf("Lock format changed from schema %d to %d; only what both pin is compared", pinned.SchemaVersion, current.SchemaVersion))
	}
	if level >= Level4 && pinned.InstructionsHash != current.InstructionsHash {
		add("instructions-modified", targetInstruction, "Server instructions changed")
	}
	drifts = append(drifts, compareTools(pinned.Tools, current.Tools, level)...)
	walk(pinned.Resources, current.Resources, func(r *Resource) string { return r.URI }, func(uri string, was, is *Resource) {
		target := "resources/" + uri
		switch {
		case was == nil:
			add("resource-added", target, "Resource '"+uri+"' added")
		case is == nil:
			add("resource-removed", target, "Resource '"+uri+"' removed")
		case was.EntryDigest != is.EntryDigest:
			add("resource-modified", target, "Resource '"+uri+"' modified")
		}
	})
	walk(pinned.Prompts, current.Prompts, func(p *Prompt) string { return p.Name }, func(name string, was, is *Prompt) {
		target := "prompts/" + name
		switch {
		case was == nil:
			add("prompt-added", target, "Prompt '"+name+"' added")
		case is == nil:
			add("prompt-removed", target, "Prompt '"+name+"' removed")
		case was.EntryDigest != is.EntryDigest:
			add("prompt-modified", target, "Prompt '"+name+"' modified")
		}
	})
	if pinned.Pin.Approved && !current.Pin.Approved && pinned.SchemaVersion == current.SchemaVersion {
		add("unapproved-change", "pin/approved_digest", "Surface changed since approval; approved_digest no longer matches the current surface")
	}
	if len(drifts) == 0 {
		add("unapproved-change", "lock/overall_digest", "Surface changed in a way that no other class tells")
	}
	slices.SortStableFunc(drifts, func(a, b Drift) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.Class, b.Class))
	})
	return drifts
}

// walk goes through two lists that are sorted by key, pairing equal keys.
func walk[T any](was, is []T, key func(*T) string, pair func(key string, was, is *T)) {
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && key(&was[0]) < key(&is[0]):
			pair(key(&was[0]), &was[0], nil)
			was = was[1:]
		case len(was) == 0 || key(&is[0]) < key(&was[0]):
			pair(key(&is[0]), nil, &is[0])
			is = is[1:]
		default:
			pair(key(&is[0]), &was[0], &is[0])
			was, is = was[1:], is[1:]
		}
	}
}

func compareTools(was, is []Tool, level int) (drifts []Drift) {
	walk(was, is, func(t *Tool) string { return t.Name }, func(name string, was, is *Tool) {
		switch {
		case was == nil:
			drifts = append(drifts, toolAdded(name))
		case is == nil:
			drifts = append(drifts, toolRemoved(name))
		default:
			drifts = append(drifts, compareTool(was, is, level)...)
		}
	})
	return drifts
}

func toolAdded(name string) Drift {
	return drift("tool-added", "tools/"+name, "Tool '"+name+"' added since pin", "")
}

func toolRemoved(name string) Drift {
	return drift("tool-removed", "tools/"+name, "Tool '"+name+"' removed since pin", "")
}

// compareTool tells every fact in which a tool differs. The peer leaves out a
// changed description where the schema or a capability changed too; the
// description is what the model reads, so it is told here.
func compareTool(was, is *Tool, level int) (drifts []Drift) {
	target := "tools/" + was.Name
	add := func(class, what, detail string) {
		drifts = append(drifts, drift(class, target, "Tool '"+was.Name+"' "+what, detail))
	}
	for _, capability := range is.Capabilities {
		if !slices.Contains(was.Capabilities, capability) {
			add("capability-added", "gained capability '"+capability+"'", "")
		}
	}
	for _, capability := range was.Capabilities {
		if !slices.Contains(is.Capabilities, capability) {
			add("capability-removed", "lost capability '"+capability+"'", "")
		}
	}
	if was.DescriptionHash != is.DescriptionHash {
		add("description-modified", "description changed", "")
	}
	if was.InputSchemaHash != is.InputSchemaHash {
		changes := compareSkeletons(&was.Skeleton, &is.Skeleton)
		for _, c := range changes {
			add(c.class, fmt.Sprintf("schema %s at '%s'", c.class, c.path), c.detail)
		}
		if len(changes) == 0 {
			add("schema-cosmetic-modified", "inputSchema changed cosmetically (no structural change)", "")
		}
	}
	if level >= Level4 {
		if was.AnnotationsHash != is.AnnotationsHash {
			add("tool-annotations-modified", "annotations changed (what the server declares of itself)", "")
		}
		null := sumOf([]byte("null"))
		switch {
		case was.OutputSchemaHash == is.OutputSchemaHash:
		case was.OutputSchemaHash == null:
			add("schema-out-added", "outputSchema added", "")
		case is.OutputSchemaHash == null:
			add("schema-out-removed", "outputSchema removed", "")
		default:
			add("schema-out-modified", "outputSchema changed", "")
		}
		if was.DefinitionHash != is.DefinitionHash && len(drifts) == 0 {
			add("definition-modified", "definition changed outside of description, schemas and annotations", "")
		}
	}
	if !equalInspection(was.Inspection, is.Inspection) {
		add("inspection-policy-modified", "declarations for the inspection of its results changed", "")
	}
	return drifts
}

func equalInspection(a, b *Inspection) bool {
	if a == nil || b == nil {
		return a == b
	}
	return string(a.append(nil)) == string(b.append(nil))
}
