package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/shape"
)

// Rules of the static checks beside those of package secret (WRD-SEC-…) and of
// package inspect for characters.
const (
	RuleMalformed     = "WRD-SCHEMA-MALFORMED"
	RuleShell         = "WRD-CAP-SHELL"
	RuleWrite         = "WRD-CAP-FS-WRITE"
	RuleRead          = "WRD-CAP-FS-READ"
	RuleHTTP          = "WRD-CAP-HTTP"
	RuleSQL           = "WRD-CAP-SQL"
	RuleNPXUnpinned   = "WRD-SUP-NPX-UNPINNED"
	RuleUVXUnpinned   = "WRD-SUP-UVX-UNPINNED"
	RulePIPUnpinned   = "WRD-SUP-PIP-UNPINNED"
	RuleLatestTag     = "WRD-SUP-LATEST-TAG"
	RuleCurlPipe      = "WRD-SUP-CURL-PIPE"
	targetLaunch      = "launch/command"
	targetInstruction = "server/instructions"
)

// checker collects the findings of the static checks. They inform the approver;
// none of them is drift.
type checker struct {
	findings []Finding
}

func (c *checker) add(rule, severity, target, message, snippet string) {
	c.findings = append(c.findings, Finding{RuleID: rule, Severity: severity, Target: target, Message: message, Snippet: snippet})
}

// sorted are the findings by target, rule and snippet, each once.
func (c *checker) sorted() []Finding {
	slices.SortFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Target, b.Target), strings.Compare(a.RuleID, b.RuleID), strings.Compare(a.Snippet, b.Snippet),
			strings.Compare(a.Message, b.Message))
	})
	same := func(a, b Finding) bool {
		return a.RuleID == b.RuleID && a.Target == b.Target && a.Snippet == b.Snippet
	}
	return slices.CompactFunc(c.findings, same)
}

func (c *checker) tool(t *Tool, n *node) {
	target := "tools/" + t.Name
	schema := n.get("inputSchema")
	if !schema.isNull() && !schema.isObject() {
		c.add(RuleMalformed, report.Low, target, "inputSchema is present but not a JSON object; capability analysis skipped", "")
	}
	for _, capability := range t.Capabilities {
		s, _ := shape.ByCapability(capability)
		rule := capabilityRules[s]
		why := evidence(t.Name, properties(schema), s)
		c.add(rule.id, rule.severity, target, fmt.Sprintf("Tool derives capability '%s' (%s)", capability, why), why)
	}
	c.definition(target, n)
}

func (c *checker) resource(r *Resource, n *node) { c.definition("resources/"+r.URI, n) }
func (c *checker) prompt(p *Prompt, n *node)     { c.definition("prompts/"+p.Name, n) }

func (c *checker) instructions(text jsontext.Value) error {
	if text == nil {
		return nil
	}
	n, err := parseNode(text)
	if err != nil {
		return &SurfaceError{targetInstruction, err.Error()}
	}
	c.definition(targetInstruction, n)
	return nil
}

// definition looks at every text of a definition.
func (c *checker) definition(target string, n *node) {
	c.secrets(target, n)
	c.characters(target, n)
}

// notText are members whose values are syntax, not text.
var notText = map[string]bool{"pattern": true, "$ref": true, "$schema": true, "$id": true, "format": true, "type": true, "required": true}

func (c *checker) secrets(target string, n *node) {
	switch {
	case n.isString():
		c.secret(target, "", n.text)
	case n.kind == '[':
		for _, item := range n.items {
			c.secrets(target, item)
		}
	case n.kind == '{':
		for _, m := range n.members {
			// A property may have one of these names; then its value is an object.
			if !notText[m.name] || m.value.isObject() {
				c.secrets(target, m.value)
			}
		}
	}
}

// secret looks at a text that is the value of name, if it has one.
func (c *checker) secret(target, name, text string) {
	for _, m := range secret.FindValue([]byte(name), []byte(text)) {
		c.add(m.Rule.ID, m.Rule.Severity, target, m.Rule.ID+": possible secret in field", secret.Redact(text[m.Start:m.End]))
	}
}

var catalog = sync.OnceValue(func() *inspect.Catalog {
	c, err := inspect.New(inspect.Options{})
	if err != nil {
		panic("lock: a catalog without lists: " + err.Error())
	}
	return c
})

// characters finds what a reader of a definition does not see: control
// characters and invisible ones. They are told by their code points.
func (c *checker) characters(target string, n *node) {
	for _, f := range catalog().Inspect(n.append(nil), inspect.Declaration{}, inspect.Posture{}).Findings {
		if f.RuleID == inspect.RuleANSI || f.RuleID == inspect.RuleInvisible {
			c.add(f.RuleID, f.Severity, target, f.Message, f.Pointer)
		}
	}
}

type rule struct{ id, severity string }

var capabilityRules = map[shape.Shape]rule{
	shape.ShellExec:       {RuleShell, report.Critical},
	shape.FilesystemWrite: {RuleWrite, report.High},
	shape.FilesystemRead:  {RuleRead, report.Medium},
	shape.HTTPRequest:     {RuleHTTP, report.High},
	shape.SQLQuery:        {RuleSQL, report.High},
}

// evidence says which name made a tool have a capability: the first word, in
// alphabetical order, of the tool's name, or the first property.
func evidence(tool string, props []shape.Property, s shape.Shape) string {
	segments := shape.Segments(tool)
	slices.Sort(segments)
	for _, word := range segments {
		if says(word, s) {
			return "name token '" + word + "'"
		}
	}
	for _, p := range props {
		if s.Takes(p.Name) {
			return "property '" + p.Name + "'"
		}
	}
	return "derived capability '" + s.Capability() + "'"
}

// says reports whether a word in a tool's name stands for the shape: whether a
// tool of that name alone has it, given something to do it to.
func says(word string, s shape.Shape) bool {
	var props []shape.Property
	if s == shape.FilesystemRead || s == shape.FilesystemWrite {
		props = []shape.Property{{Name: "path", Text: true}}
	}
	return shape.RecogniseContract(word, props).Has(s)
}
