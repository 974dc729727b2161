package lock

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/report"
)

// MaxFile bounds a lock file in bytes.
const MaxFile = 64 << 20

// Fault says what is wrong with a lock file.
type Fault uint8

const (
	// NotLock is a file that is no lock: no JSON, a member twice, a member that
	// is missing, not known or of the wrong type.
	NotLock Fault = iota + 1
	// OtherSchema is a lock of a level that is not read.
	OtherSchema
	// Tampered is a lock that does not add up: something was changed after it
	// was pinned.
	Tampered
	// StaleApproval is an approval of another surface than the pinned one.
	StaleApproval
	// WrongSignature is a signature that is not of this lock.
	WrongSignature
)

// Error says why a lock file is refused.
type Error struct {
	Fault  Fault
	Path   string // where in the file, as tools[3].entry_digest; empty for all of it
	Reason string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Read reads the lock file at path. The error is that of the file system, or
// wraps an [*Error].
func Read(path string) (*Lock, error) { return readFile(path, Parse) }

// ReadDraft is Read for a lock that a human has edited, as [ParseDraft].
func ReadDraft(path string) (*Lock, error) { return readFile(path, ParseDraft) }

func readFile(path string, parse func([]byte) (*Lock, error)) (*Lock, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	l, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return l, nil
}

// Parse reads a lock file and checks that it adds up: every entry digest, the
// order of the entries, the overall digest, the approval, and the signature
// under the key it names. The error is an [*Error]. It is checked further that
// every hash has the form of one; what it is a hash of is on the server.
func Parse(text []byte) (*Lock, error) {
	l, err := ParseDraft(text)
	if err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	return l, nil
}

// ParseDraft reads a lock file whose digests need not match: one in which a
// human has declared how results are to be inspected, and that is to be pinned
// anew. Nothing else may be believed of it.
func ParseDraft(text []byte) (*Lock, error) {
	if len(text) > MaxFile {
		return nil, &Error{NotLock, "", fmt.Sprintf("longer than %d bytes", MaxFile)}
	}
	n, err := parseNode(text)
	if err != nil {
		return nil, &Error{NotLock, "", "not one strict JSON value: " + err.Error()}
	}
	r := reader{}
	l := r.lock(n)
	if r.err != nil {
		return nil, r.err
	}
	return l, nil
}

// reader takes a lock from a document and keeps the first fault.
type reader struct {
	err *Error
}

func (r *reader) fail(fault Fault, path, format string, a ...any) {
	if r.err == nil {
		r.err = &Error{fault, strings.TrimPrefix(path, "."), fmt.Sprintf(format, a...)}
	}
}

// fields are the members of one object.
type fields struct {
	r    *reader
	path string
	n    *node
}

// object says which members an object must have and which it may have.
func (r *reader) object(n *node, path string, must, may []string) fields {
	f := fields{r, path, n}
	if !n.isObject() {
		r.fail(NotLock, path, "is no object")
		return f
	}
	for _, name := range must {
		if n.get(name) == nil {
			r.fail(NotLock, path+"."+name, "is missing")
		}
	}
	for _, m := range n.members {
		if !slices.Contains(must, m.name) && !slices.Contains(may, m.name) {
			r.fail(NotLock, path+"."+m.name, "is no member that is known here")
		}
	}
	return f
}

func (f fields) at(name string) string { return f.path + "." + name }

func (f fields) text(name string) string {
	v := f.n.get(name)
	if !v.isString() {
		f.r.fail(NotLock, f.at(name), "is no string")
		return ""
	}
	return v.text
}

func (f fields) maybe(name string) *string {
	v := f.n.get(name)
	if v.isNull() {
		return nil
	}
	s := f.text(name)
	return &s
}

func (f fields) hash(name string) string {
	s := f.text(name)
	if !isHash(s) {
		f.r.fail(NotLock, f.at(name), "is no sha256: and 64 lowercase hex digits")
	}
	return s
}

func (f fields) truth(name string) bool {
	v := f.n.get(name)
	if v == nil || v.kind != 't' && v.kind != 'f' {
		f.r.fail(NotLock, f.at(name), "is neither true nor false")
		return false
	}
	return v.kind == 't'
}

func (f fields) maybeTruth(name string) *bool {
	if f.n.get(name) == nil {
		return nil
	}
	v := f.truth(name)
	return &v
}

func (f fields) count(name string) int {
	v := f.n.get(name)
	if v == nil || v.kind != '0' {
		f.r.fail(NotLock, f.at(name), "is no number")
		return 0
	}
	i, err := strconv.ParseUint(string(v.raw), 10, 64)
	if err != nil || i > math.MaxInt32 {
		f.r.fail(NotLock, f.at(name), "is no whole number from 0 to %d", math.MaxInt32)
	}
	return int(i)
}

func (f fields) list(name string) []*node {
	v := f.n.get(name)
	if v == nil || v.kind != '[' {
		f.r.fail(NotLock, f.at(name), "is no list")
		return nil
	}
	return v.items
}

func (f fields) texts(name string) []string {
	out := []string{}
	for i, item := range f.list(name) {
		if !item.isString() {
			f.r.fail(NotLock, fmt.Sprintf("%s[%d]", f.at(name), i), "is no string")
			return nil
		}
		out = append(out, item.text)
	}
	return out
}

func entries[T any](f fields, name string, each func(*node, string) T) []T {
	var out []T
	for i, item := range f.list(name) {
		out = append(out, each(item, fmt.Sprintf("%s[%d]", f.at(name), i)))
	}
	return out
}

func (r *reader) lock(n *node) *Lock {
	if !n.isObject() {
		r.fail(NotLock, "", "is no object")
		return nil
	}
	l := &Lock{SchemaVersion: fields{r, "", n}.count("schema_version")}
	if l.SchemaVersion != Level3 && l.SchemaVersion != Level4 {
		r.fail(OtherSchema, "schema_version", "%d is none that is read (%d, %d)", l.SchemaVersion, Level3, Level4)
		return nil
	}
	must := []string{"schema_version", "warden_version", "server", "tools", "resources", "prompts", "findings", "overall_digest", "pin"}
	if l.SchemaVersion >= Level4 {
		must = append(must, "instructions_hash")
	}
	f := r.object(n, "", must, []string{"signature"})
	if r.err != nil {
		return nil
	}
	l.WardenVersion = f.text("warden_version")
	l.Server = r.server(n.get("server"), ".server")
	if l.SchemaVersion >= Level4 {
		l.InstructionsHash = f.hash("instructions_hash")
	}
	l.Tools = entries(f, "tools", func(n *node, path string) Tool { return r.tool(n, path, l.SchemaVersion) })
	l.Resources = entries(f, "resources", r.resource)
	l.Prompts = entries(f, "prompts", r.prompt)
	l.Findings = entries(f, "findings", r.finding)
	l.OverallDigest = f.hash("overall_digest")
	l.Pin = r.pin(n.get("pin"), ".pin")
	if s := n.get("signature"); s != nil {
		l.Signature = r.signature(s, ".signature")
	}
	return l
}

func (r *reader) server(n *node, path string) (s Server) {
	f := r.object(n, path, []string{"command", "args", "command_digest"}, []string{"url"})
	if url := f.maybe("url"); url != nil {
		s.URL = *url
	}
	s.Command, s.Args, s.CommandDigest = f.text("command"), f.texts("args"), f.hash("command_digest")
	return s
}

func (r *reader) tool(n *node, path string, level int) (t Tool) {
	must := []string{"name", "description_hash", "input_schema_hash", "capabilities", "schema_skeleton", "entry_digest"}
	if level >= Level4 {
		must = append(must, "annotations_hash", "output_schema_hash", "definition_hash")
	}
	f := r.object(n, path, must, []string{"inspection"})
	t.Name = f.text("name")
	t.DescriptionHash, t.InputSchemaHash, t.EntryDigest = f.hash("description_hash"), f.hash("input_schema_hash"), f.hash("entry_digest")
	if level >= Level4 {
		t.AnnotationsHash, t.OutputSchemaHash, t.DefinitionHash = f.hash("annotations_hash"), f.hash("output_schema_hash"), f.hash("definition_hash")
	}
	t.Capabilities = f.texts("capabilities")
	if v := n.get("inspection"); v != nil {
		t.Inspection = r.inspection(v, path+".inspection")
	}
	t.Skeleton = r.skeleton(n.get("schema_skeleton"), path+".schema_skeleton")
	return t
}

func (r *reader) inspection(n *node, path string) *Inspection {
	f := r.object(n, path, nil, []string{"expected_output_charset", "may_return_urls", "secret_echo_applies"})
	i := &Inspection{MayReturnURLs: f.maybeTruth("may_return_urls"), SecretEchoApplies: f.maybeTruth("secret_echo_applies")}
	if n.get("expected_output_charset") != nil {
		charset := f.text("expected_output_charset")
		i.Charset = &charset
	}
	return i
}

func (r *reader) skeleton(n *node, path string) (s Skeleton) {
	r.object(n, path, []string{"props"}, nil)
	props := n.get("props")
	if !props.isObject() {
		r.fail(NotLock, path+".props", "is no object")
		return s
	}
	for _, m := range props.members {
		at := path + ".props." + m.name
		f := r.object(m.value, at, []string{"type", "required", "enum", "constraints"}, nil)
		if r.err != nil {
			return s
		}
		p := Prop{Path: m.name, Required: f.truth("required")}
		if !m.value.get("type").isNull() {
			p.Type = f.texts("type")
		}
		if !m.value.get("enum").isNull() {
			p.Enum = []jsontext.Value{}
			for _, item := range f.list("enum") {
				p.Enum = append(p.Enum, r.value(item, at+".enum"))
			}
		}
		constraints := m.value.get("constraints")
		if !constraints.isObject() {
			r.fail(NotLock, at+".constraints", "is no object")
			return s
		}
		for _, c := range constraints.members {
			p.Constraints = append(p.Constraints, Constraint{c.name, r.value(c.value, at+".constraints."+c.name)})
		}
		s.Props = append(s.Props, p)
	}
	slices.SortFunc(s.Props, func(a, b Prop) int { return strings.Compare(a.Path, b.Path) })
	return s
}

func (r *reader) value(n *node, path string) jsontext.Value {
	v, err := n.canonical()
	if err != nil {
		r.fail(NotLock, path, "%v", err)
	}
	return v
}

func (r *reader) resource(n *node, path string) Resource {
	f := r.object(n, path, []string{"uri", "name", "description_hash", "mime_type", "entry_digest"}, nil)
	return Resource{URI: f.text("uri"), Name: f.maybe("name"), DescriptionHash: f.hash("description_hash"), MIMEType: f.maybe("mime_type"), EntryDigest: f.hash("entry_digest")}
}

func (r *reader) prompt(n *node, path string) Prompt {
	f := r.object(n, path, []string{"name", "description_hash", "arguments_hash", "entry_digest"}, nil)
	return Prompt{Name: f.text("name"), DescriptionHash: f.hash("description_hash"), ArgumentsHash: f.hash("arguments_hash"), EntryDigest: f.hash("entry_digest")}
}

func (r *reader) finding(n *node, path string) Finding {
	f := r.object(n, path, []string{"rule_id", "severity", "target", "message", "snippet"}, nil)
	found := Finding{RuleID: f.text("rule_id"), Severity: f.text("severity"), Target: f.text("target"), Message: f.text("message"), Snippet: f.text("snippet")}
	if !slices.Contains([]string{report.Critical, report.High, report.Medium, report.Low}, found.Severity) {
		r.fail(NotLock, path+".severity", "is no severity")
	}
	return found
}

func (r *reader) pin(n *node, path string) (p Pin) {
	f := r.object(n, path, []string{"created_at", "warden_version", "mcp_protocol_version", "approved", "approver", "approved_at", "approved_digest"},
		[]string{"provenance_version", "pinner", "attestations", "rotated_at", "rotation_count"})
	p.CreatedAt, p.WardenVersion, p.MCPProtocolVersion = f.time("created_at"), f.text("warden_version"), f.text("mcp_protocol_version")
	p.Approved, p.Approver, p.ApprovedAt = f.truth("approved"), f.maybe("approver"), f.maybe("approved_at")
	if p.Approved {
		// Approve makes none without them: nobody at no time approved nothing.
		f.time("approved_at")
		if p.Approver == nil || *p.Approver == "" {
			r.fail(NotLock, path+".approver", "an approval names nobody")
		}
	}
	if !n.get("approved_digest").isNull() {
		digest := f.hash("approved_digest")
		p.ApprovedDigest = &digest
	}
	if n.get("provenance_version") != nil && f.count("provenance_version") != 1 {
		r.fail(OtherSchema, path+".provenance_version", "is not 1")
	}
	if by := n.get("pinner"); !by.isNull() {
		f := r.object(by, path+".pinner", []string{"tool", "tool_version"}, []string{"actor", "environment"})
		p.Pinner = &Pinner{Tool: f.text("tool"), ToolVersion: f.text("tool_version"), Actor: f.maybe("actor"), Environment: f.maybe("environment")}
	}
	if n.get("attestations") != nil {
		p.Attestations = entries(f, "attestations", r.attestation)
	}
	p.RotatedAt = f.maybe("rotated_at")
	if n.get("rotation_count") != nil {
		p.RotationCount = f.count("rotation_count")
	}
	return p
}

func (f fields) time(name string) string {
	s := f.text(name)
	if _, err := time.Parse("2006-01-02T15:04:05Z", s); err != nil {
		f.r.fail(NotLock, f.at(name), "is no RFC 3339 time in UTC, to the second")
	}
	return s
}

func (r *reader) attestation(n *node, path string) Attestation {
	f := r.object(n, path, []string{"actor", "role", "method", "created_at", "bound_digest"}, []string{"note", "signature_bundle"})
	return Attestation{
		Actor: f.text("actor"), Role: f.text("role"), Method: f.text("method"), CreatedAt: f.time("created_at"),
		BoundDigest: f.hash("bound_digest"), Note: f.maybe("note"), SignatureBundle: f.maybe("signature_bundle"),
	}
}

func (r *reader) signature(n *node, path string) *Signature {
	f := r.object(n, path, []string{"algorithm", "key_id", "public_key", "value"}, nil)
	if a := f.text("algorithm"); a != algorithm {
		r.fail(OtherSchema, path+".algorithm", "is not %s", algorithm)
	}
	s := &Signature{}
	var err error
	if s.PublicKey, err = aar.ParsePublicKey(f.text("public_key")); err != nil {
		r.fail(NotLock, path+".public_key", "%v", err)
	}
	if err := s.KeyID.UnmarshalText([]byte(f.text("key_id"))); err != nil {
		r.fail(NotLock, path+".key_id", "%v", err)
	}
	if err := s.Value.UnmarshalText([]byte(f.text("value"))); err != nil {
		r.fail(NotLock, path+".value", "%v", err)
	}
	return s
}

// check holds every digest to what it is of.
func (l *Lock) check() error {
	if l.Server.CommandDigest != l.Server.digest() {
		return &Error{Tampered, "server", "the command is not the one that was pinned"}
	}
	for i := range l.Tools {
		if t := &l.Tools[i]; t.EntryDigest != t.digest(l.SchemaVersion) {
			return tampered("tools", i, t.Name)
		}
	}
	for i := range l.Resources {
		if r := &l.Resources[i]; r.EntryDigest != r.digest() {
			return tampered("resources", i, r.URI)
		}
	}
	for i := range l.Prompts {
		if p := &l.Prompts[i]; p.EntryDigest != p.digest() {
			return tampered("prompts", i, p.Name)
		}
	}
	for _, err := range []error{
		ascending("tools", l.Tools, func(t *Tool) string { return t.Name }),
		ascending("resources", l.Resources, func(r *Resource) string { return r.URI }),
		ascending("prompts", l.Prompts, func(p *Prompt) string { return p.Name }),
	} {
		if err != nil {
			return err
		}
	}
	if l.OverallDigest != l.digest() {
		return &Error{Tampered, "overall_digest", "is not the digest of the entries"}
	}
	if err := l.checkApproval(); err != nil {
		return err
	}
	if l.Signature != nil {
		if err := l.checkSignature(); err != nil {
			return &Error{WrongSignature, "signature", err.Error()}
		}
	}
	return nil
}

func tampered(list string, i int, name string) error {
	return &Error{Tampered, fmt.Sprintf("%s[%d]", list, i), "the entry of `" + report.Clip(name, 200) + "` was changed after it was pinned"}
}

func ascending[T any](list string, entries []T, key func(*T) string) error {
	for i := 1; i < len(entries); i++ {
		if key(&entries[i-1]) >= key(&entries[i]) {
			return &Error{Tampered, fmt.Sprintf("%s[%d]", list, i), "the entries are not in order, each once"}
		}
	}
	return nil
}

func (l *Lock) checkApproval() error {
	p := &l.Pin
	switch {
	case !p.Approved && (p.Approver != nil || p.ApprovedAt != nil || p.ApprovedDigest != nil):
		return &Error{Tampered, "pin", "is not approved and yet names an approval"}
	case !p.Approved:
		return nil
	case p.ApprovedDigest == nil || *p.ApprovedDigest != l.OverallDigest:
		return &Error{StaleApproval, "pin.approved_digest", "the approval is of another surface than the pinned one; look at the differences and pin again"}
	}
	return nil
}

// Misdeclared tells which declarations of inspection are not understood. The
// tools are treated as if they had none of that kind.
func (l *Lock) Misdeclared() (findings []Finding) {
	for i := range l.Tools {
		in := l.Tools[i].Inspection
		if in == nil || in.Charset == nil {
			continue
		}
		if _, ok := inspect.ParseCharset(*in.Charset); !ok {
			findings = append(findings, Finding{
				RuleID: inspect.RuleLockInvalid, Severity: report.Low, Target: "tools/" + l.Tools[i].Name,
				Message: "the declared expected_output_charset is none that is known; text is taken", Snippet: "",
			})
		}
	}
	return findings
}
