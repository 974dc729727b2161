package lock

import "github.com/go-json-experiment/json/jsontext"

// hashOwn is the hash of JSON that this package wrote: it cannot fail.
func hashOwn(text []byte) string {
	v := jsontext.Value(text)
	if err := canonicalize(&v); err != nil {
		panic("lock: what was written is not JSON: " + err.Error())
	}
	return sumOf(v)
}

func (s *Server) digest() string {
	var o object
	if s.URL != "" {
		o.text("url", s.URL)
	} else {
		o.text("command", s.Command)
		o.texts("args", s.Args)
	}
	return hashOwn(o.end())
}

func (t *Tool) digest(level int) string { return hashOwn(t.append(nil, level, false)) }
func (r *Resource) digest() string      { return hashOwn(r.append(nil, false)) }
func (p *Prompt) digest() string        { return hashOwn(p.append(nil, false)) }

// digest is the hash of the whole surface: of the level, the server's identity
// and the entry digests, and on Level4 of the instructions' hash. When and by
// whom it was pinned, and the findings, are no part of it.
func (l *Lock) digest() string {
	var o, server object
	o.number("schema_version", l.SchemaVersion)
	server.text("command_digest", l.Server.CommandDigest)
	o.raw("server", server.end())
	if l.SchemaVersion >= Level4 {
		o.text("instructions_hash", l.InstructionsHash)
	}
	var tools, resources, prompts []string
	for i := range l.Tools {
		tools = append(tools, l.Tools[i].EntryDigest)
	}
	for i := range l.Resources {
		resources = append(resources, l.Resources[i].EntryDigest)
	}
	for i := range l.Prompts {
		prompts = append(prompts, l.Prompts[i].EntryDigest)
	}
	o.texts("tools", tools)
	o.texts("resources", resources)
	o.texts("prompts", prompts)
	return hashOwn(o.end())
}
