package lock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/shape"
)

// SurfaceError says that what a server sent cannot be pinned.
type SurfaceError struct {
	Target string // tools/NAME, or the list it is in: tools[3]
	Reason string
}

func (e *SurfaceError) Error() string { return e.Target + ": " + e.Reason }

// New pins a surface: hashes, capabilities, skeletons and the findings of the
// static checks. The error is a [*SurfaceError], or says which option is wrong.
//
// The start-up command is kept and hashed with what looks like a secret
// redacted: a lock is a file that is committed.
func New(s *Surface, o PinOptions) (*Lock, error) {
	if o.Schema != Level3 && o.Schema != Level4 {
		return nil, fmt.Errorf("schema %d is none that is written (%d, %d)", o.Schema, Level3, Level4)
	}
	l := &Lock{
		SchemaVersion: o.Schema,
		WardenVersion: o.Version,
		Server:        serverOf(s),
		Tools:         []Tool{},
		Pin: Pin{
			CreatedAt:          stamp(o.Now),
			WardenVersion:      o.Version,
			MCPProtocolVersion: s.ProtocolVersion,
			Pinner:             &Pinner{Tool: "aegis", ToolVersion: o.Version},
		},
	}
	if o.Schema >= Level4 {
		h, err := Hash(orNull(s.Instructions))
		if err != nil {
			return nil, &SurfaceError{"server/instructions", err.Error()}
		}
		l.InstructionsHash = h
	}
	checks := checker{}
	checks.launch(s)
	if err := checks.instructions(s.Instructions); err != nil {
		return nil, err
	}
	if err := l.addTools(s, &o, &checks); err != nil {
		return nil, err
	}
	if err := l.addResources(s, &checks); err != nil {
		return nil, err
	}
	if err := l.addPrompts(s, &checks); err != nil {
		return nil, err
	}
	l.Findings = checks.sorted()
	l.OverallDigest = l.digest()
	if o.Approver != "" {
		if err := l.Approve(o.Approver, o.Now); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func serverOf(s *Surface) Server {
	server := Server{Command: redactWord("", s.Command), Args: slices.Clone(s.Args), URL: redactURL(s.URL)}
	for i, word := range s.Args {
		server.Args[i] = redactWord(optionBefore(s.Args, i), word)
	}
	server.CommandDigest = server.digest()
	return server
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func orNull(v jsontext.Value) jsontext.Value {
	if v == nil {
		return jsontext.Value("null")
	}
	return v
}

func (l *Lock) addTools(s *Surface, o *PinOptions, checks *checker) error {
	for i, text := range s.Tools {
		n, err := parseNode(text)
		if err != nil {
			return &SurfaceError{fmt.Sprintf("tools[%d]", i), err.Error()}
		}
		t, err := newTool(n, text, o.Schema)
		if err != nil {
			return &SurfaceError{fmt.Sprintf("tools[%d]", i), err.Error()}
		}
		if o.Keep != nil {
			if was := o.Keep.Tool(t.Name); was != nil && !was.Inspection.empty() {
				t.Inspection = was.Inspection
			}
		}
		t.EntryDigest = t.digest(o.Schema)
		l.Tools = append(l.Tools, *t)
		checks.tool(t, n)
	}
	slices.SortFunc(l.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return unique("tools", l.Tools, func(t *Tool) string { return t.Name })
}

func unique[T any](kind string, entries []T, key func(*T) string) error {
	for i := 1; i < len(entries); i++ {
		if k := key(&entries[i]); k == key(&entries[i-1]) {
			return &SurfaceError{kind + "/" + k, "is declared twice"}
		}
	}
	return nil
}

// newTool pins one tool, but for its declarations and its digest. text is the
// object as it was sent.
func newTool(n *node, text []byte, level int) (*Tool, error) {
	t := &Tool{}
	var err error
	if t.Name, err = requiredText(n, "name"); err != nil {
		return nil, err
	}
	if err := n.lookAlike("name", "description", "inputSchema", "outputSchema", "annotations"); err != nil {
		return nil, err
	}
	if t.DescriptionHash, err = hashOr(n.get("description"), `""`); err != nil {
		return nil, err
	}
	schema := n.get("inputSchema")
	if !schema.isObject() {
		schema = nil
	}
	if t.InputSchemaHash, err = hashOr(schema, "{}"); err != nil {
		return nil, err
	}
	t.Capabilities = capabilitiesOf(t.Name, schema)
	if t.Skeleton, err = skeletonOf(schema, level >= Level4); err != nil {
		return nil, err
	}
	if level >= Level4 {
		if t.AnnotationsHash, err = hashOr(n.get("annotations"), "null"); err != nil {
			return nil, err
		}
		if t.OutputSchemaHash, err = hashOr(n.get("outputSchema"), "null"); err != nil {
			return nil, err
		}
		if t.DefinitionHash, err = Hash(text); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func requiredText(n *node, name string) (string, error) {
	if !n.isObject() {
		return "", fmt.Errorf("is no object")
	}
	v := n.get(name)
	if !v.isString() {
		return "", fmt.Errorf("has no string %s", name)
	}
	return v.text, nil
}

// hashOr is the hash of a value, or of another text if it is absent or null.
func hashOr(n *node, absent string) (string, error) {
	if n.isNull() {
		return sumOf([]byte(absent)), nil
	}
	c, err := n.canonical()
	if err != nil {
		return "", err
	}
	return sumOf(c), nil
}

// properties are the top-level properties of an input schema, as shapes are
// recognised by them.
func properties(schema *node) []shape.Property {
	declared := schema.get("properties")
	if !declared.isObject() {
		return nil
	}
	props := make([]shape.Property, len(declared.members))
	for i, m := range declared.members {
		props[i] = shape.Property{Name: m.name, Text: mayBeText(m.value)}
	}
	return props
}

// mayBeText reports whether a property's declared type is a string or a list of
// strings, or is not known.
func mayBeText(schema *node) bool {
	types := typesOf(schema.get("type"))
	if types == nil || slices.Contains(types, "string") {
		return true
	}
	return slices.Contains(types, "array") && mayBeText(schema.get("items"))
}

func capabilitiesOf(tool string, schema *node) []string {
	capabilities := []string{}
	for _, s := range shape.RecogniseContract(tool, properties(schema)).Shapes() {
		capabilities = append(capabilities, s.Capability())
	}
	slices.Sort(capabilities)
	return capabilities
}

func (l *Lock) addResources(s *Surface, checks *checker) error {
	for i, text := range s.Resources {
		r, n, err := newResource(text)
		if err != nil {
			return &SurfaceError{fmt.Sprintf("resources[%d]", i), err.Error()}
		}
		l.Resources = append(l.Resources, *r)
		checks.resource(r, n)
	}
	// A server may list one URI several times, under several names.
	slices.SortFunc(l.Resources, func(a, b Resource) int {
		return cmp.Or(strings.Compare(a.URI, b.URI), strings.Compare(a.EntryDigest, b.EntryDigest))
	})
	l.Resources = slices.CompactFunc(l.Resources, func(a, b Resource) bool { return a.URI == b.URI && a.EntryDigest == b.EntryDigest })
	return unique("resources", l.Resources, func(r *Resource) string { return r.URI })
}

func newResource(text []byte) (*Resource, *node, error) {
	n, err := parseNode(text)
	if err != nil {
		return nil, nil, err
	}
	r := &Resource{}
	if r.URI, err = requiredText(n, "uri"); err != nil {
		return nil, nil, err
	}
	if r.Name, err = optionalText(n, "name"); err != nil {
		return nil, nil, err
	}
	if r.MIMEType, err = optionalText(n, "mimeType"); err != nil {
		return nil, nil, err
	}
	if r.DescriptionHash, err = hashOr(n.get("description"), `""`); err != nil {
		return nil, nil, err
	}
	r.EntryDigest = r.digest()
	return r, n, nil
}

func optionalText(n *node, name string) (*string, error) {
	v := n.get(name)
	if v.isNull() {
		return nil, nil
	}
	if !v.isString() {
		return nil, fmt.Errorf("has a %s that is no string", name)
	}
	return &v.text, nil
}

func (l *Lock) addPrompts(s *Surface, checks *checker) error {
	for i, text := range s.Prompts {
		p, n, err := newPrompt(text)
		if err != nil {
			return &SurfaceError{fmt.Sprintf("prompts[%d]", i), err.Error()}
		}
		l.Prompts = append(l.Prompts, *p)
		checks.prompt(p, n)
	}
	slices.SortFunc(l.Prompts, func(a, b Prompt) int { return strings.Compare(a.Name, b.Name) })
	return unique("prompts", l.Prompts, func(p *Prompt) string { return p.Name })
}

func newPrompt(text []byte) (*Prompt, *node, error) {
	n, err := parseNode(text)
	if err != nil {
		return nil, nil, err
	}
	p := &Prompt{}
	if p.Name, err = requiredText(n, "name"); err != nil {
		return nil, nil, err
	}
	if p.DescriptionHash, err = hashOr(n.get("description"), `""`); err != nil {
		return nil, nil, err
	}
	if p.ArgumentsHash, err = hashOr(n.get("arguments"), "[]"); err != nil {
		return nil, nil, err
	}
	p.EntryDigest = p.digest()
	return p, n, nil
}
