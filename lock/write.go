package lock

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Bytes is the file: UTF-8 JSON, indented by two spaces, members in a fixed
// order, one line end at the end. The same lock always gives the same bytes.
func (l *Lock) Bytes() []byte {
	v := jsontext.Value(l.append(nil))
	// What is indented was written by this package.
	_ = v.Format(jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	return append(v, '\n')
}

// object writes the members of one JSON object in the order they are given.
type object struct {
	dst   []byte
	begun bool
}

func (o *object) name(name string) {
	if o.begun {
		o.dst = append(o.dst, ',')
	} else {
		o.dst, o.begun = append(o.dst, '{'), true
	}
	o.dst, _ = jsontext.AppendQuote(o.dst, name)
	o.dst = append(o.dst, ':')
}

func (o *object) end() []byte {
	if !o.begun {
		o.dst = append(o.dst, '{')
	}
	return append(o.dst, '}')
}

func (o *object) raw(name string, value []byte) { o.name(name); o.dst = append(o.dst, value...) }

func (o *object) text(name, value string) {
	o.name(name)
	o.dst, _ = jsontext.AppendQuote(o.dst, value)
}

func (o *object) textOrNull(name string, value *string) {
	if value == nil {
		o.raw(name, []byte("null"))
	} else {
		o.text(name, *value)
	}
}

func (o *object) truth(name string, value bool) {
	o.name(name)
	o.dst = strconv.AppendBool(o.dst, value)
}

func (o *object) number(name string, value int) {
	o.name(name)
	o.dst = strconv.AppendInt(o.dst, int64(value), 10)
}

func (o *object) texts(name string, values []string) {
	o.name(name)
	o.dst = list(o.dst, values, func(dst []byte, s string) []byte {
		dst, _ = jsontext.AppendQuote(dst, s)
		return dst
	})
}

func list[T any](dst []byte, items []T, each func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = each(dst, items[i])
	}
	return append(dst, ']')
}

func (l *Lock) append(dst []byte) []byte {
	o := object{dst: dst}
	o.number("schema_version", l.SchemaVersion)
	o.text("warden_version", l.WardenVersion)
	o.name("server")
	o.dst = l.Server.append(o.dst)
	if l.SchemaVersion >= Level4 {
		o.text("instructions_hash", l.InstructionsHash)
	}
	o.name("tools")
	o.dst = list(o.dst, l.Tools, func(dst []byte, t Tool) []byte { return t.append(dst, l.SchemaVersion, true) })
	o.name("resources")
	o.dst = list(o.dst, l.Resources, func(dst []byte, r Resource) []byte { return r.append(dst, true) })
	o.name("prompts")
	o.dst = list(o.dst, l.Prompts, func(dst []byte, p Prompt) []byte { return p.append(dst, true) })
	o.name("findings")
	o.dst = list(o.dst, l.Findings, appendFinding)
	o.text("overall_digest", l.OverallDigest)
	o.name("pin")
	o.dst = l.Pin.append(o.dst)
	if s := l.Signature; s != nil {
		o.name("signature")
		sig := object{dst: o.dst}
		sig.text("algorithm", algorithm)
		sig.text("key_id", s.KeyID.String())
		sig.text("public_key", s.PublicKey.String())
		value, _ := s.Value.MarshalText() // never fails
		sig.text("value", string(value))
		o.dst = sig.end()
	}
	return o.end()
}

func (s *Server) append(dst []byte) []byte {
	o := object{dst: dst}
	o.text("command", s.Command)
	o.texts("args", s.Args)
	if s.URL != "" {
		o.text("url", s.URL)
	}
	o.text("command_digest", s.CommandDigest)
	return o.end()
}

// append appends the entry, with its digest or without.
func (t *Tool) append(dst []byte, level int, whole bool) []byte {
	o := object{dst: dst}
	o.text("name", t.Name)
	o.text("description_hash", t.DescriptionHash)
	o.text("input_schema_hash", t.InputSchemaHash)
	o.texts("capabilities", t.Capabilities)
	if t.Inspection != nil {
		o.name("inspection")
		o.dst = t.Inspection.append(o.dst)
	}
	o.name("schema_skeleton")
	o.dst = t.Skeleton.append(o.dst)
	if level >= Level4 {
		o.text("annotations_hash", t.AnnotationsHash)
		o.text("output_schema_hash", t.OutputSchemaHash)
		o.text("definition_hash", t.DefinitionHash)
	}
	if whole {
		o.text("entry_digest", t.EntryDigest)
	}
	return o.end()
}

func (i *Inspection) append(dst []byte) []byte {
	o := object{dst: dst}
	if i.Charset != nil {
		o.text("expected_output_charset", *i.Charset)
	}
	if i.MayReturnURLs != nil {
		o.truth("may_return_urls", *i.MayReturnURLs)
	}
	if i.SecretEchoApplies != nil {
		o.truth("secret_echo_applies", *i.SecretEchoApplies)
	}
	return o.end()
}

func (s *Skeleton) append(dst []byte) []byte {
	props := object{}
	for _, p := range s.Props {
		props.name(p.Path)
		o := object{dst: props.dst}
		if p.Type == nil {
			o.raw("type", []byte("null"))
		} else {
			o.texts("type", p.Type)
		}
		o.truth("required", p.Required)
		if p.Enum == nil {
			o.raw("enum", []byte("null"))
		} else {
			o.name("enum")
			o.dst = list(o.dst, p.Enum, func(dst []byte, v jsontext.Value) []byte { return append(dst, v...) })
		}
		o.name("constraints")
		constraints := object{dst: o.dst}
		for _, c := range p.Constraints {
			constraints.raw(c.Name, c.Value)
		}
		o.dst = constraints.end()
		props.dst = o.end()
	}
	o := object{dst: dst}
	o.raw("props", props.end())
	return o.end()
}

func (r *Resource) append(dst []byte, whole bool) []byte {
	o := object{dst: dst}
	o.text("uri", r.URI)
	o.textOrNull("name", r.Name)
	o.text("description_hash", r.DescriptionHash)
	o.textOrNull("mime_type", r.MIMEType)
	if whole {
		o.text("entry_digest", r.EntryDigest)
	}
	return o.end()
}

func (p *Prompt) append(dst []byte, whole bool) []byte {
	o := object{dst: dst}
	o.text("name", p.Name)
	o.text("description_hash", p.DescriptionHash)
	o.text("arguments_hash", p.ArgumentsHash)
	if whole {
		o.text("entry_digest", p.EntryDigest)
	}
	return o.end()
}

func appendFinding(dst []byte, f Finding) []byte {
	o := object{dst: dst}
	o.text("rule_id", f.RuleID)
	o.text("severity", f.Severity)
	o.text("target", f.Target)
	o.text("message", f.Message)
	o.text("snippet", f.Snippet)
	return o.end()
}

func (p *Pin) append(dst []byte) []byte {
	o := object{dst: dst}
	o.text("created_at", p.CreatedAt)
	o.text("warden_version", p.WardenVersion)
	o.text("mcp_protocol_version", p.MCPProtocolVersion)
	p.appendApproval(&o)
	o.number("provenance_version", 1)
	if p.Pinner == nil {
		o.raw("pinner", []byte("null"))
	} else {
		o.name("pinner")
		by := object{dst: o.dst}
		by.text("tool", p.Pinner.Tool)
		by.text("tool_version", p.Pinner.ToolVersion)
		by.textOrNull("actor", p.Pinner.Actor)
		by.textOrNull("environment", p.Pinner.Environment)
		o.dst = by.end()
	}
	o.name("attestations")
	o.dst = list(o.dst, p.Attestations, appendAttestation)
	o.textOrNull("rotated_at", p.RotatedAt)
	o.number("rotation_count", p.RotationCount)
	return o.end()
}

func (p *Pin) appendApproval(o *object) {
	o.truth("approved", p.Approved)
	o.textOrNull("approver", p.Approver)
	o.textOrNull("approved_at", p.ApprovedAt)
	o.textOrNull("approved_digest", p.ApprovedDigest)
}

func appendAttestation(dst []byte, a Attestation) []byte {
	o := object{dst: dst}
	o.text("actor", a.Actor)
	o.text("role", a.Role)
	o.text("method", a.Method)
	o.text("created_at", a.CreatedAt)
	o.text("bound_digest", a.BoundDigest)
	o.textOrNull("note", a.Note)
	o.textOrNull("signature_bundle", a.SignatureBundle)
	return o.end()
}
