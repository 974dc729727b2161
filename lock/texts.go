package lock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Texts is the private companion of a lock: what the hashes are of. It is for
// the person who approves a change and wants to see what was there before. It
// may hold whatever a server says, so it is no part of the lock.
type Texts struct {
	overall string
	entries map[string]jsontext.Value // by target, as tools/NAME
}

const textsVersion = 1

// TextsOf are the texts of a surface that l is the lock of.
func TextsOf(l *Lock, s *Surface) *Texts {
	t := &Texts{overall: l.OverallDigest, entries: map[string]jsontext.Value{}}
	if s.Instructions != nil {
		t.entries[targetInstruction] = s.Instructions
	}
	put := func(list, key string, entries []jsontext.Value) {
		for _, e := range entries {
			// They were read when the lock was made.
			if n, err := parseNode(e); err == nil && n.get(key).isString() {
				t.entries[list+"/"+n.get(key).text] = e
			}
		}
	}
	put("tools", "name", s.Tools)
	put("resources", "uri", s.Resources)
	put("prompts", "name", s.Prompts)
	return t
}

// Bytes is the file.
func (t *Texts) Bytes() []byte {
	targets := make([]string, 0, len(t.entries))
	for target := range t.entries {
		targets = append(targets, target)
	}
	slices.Sort(targets)
	var o, entries object
	o.number("texts_version", textsVersion)
	o.text("overall_digest", t.overall)
	for _, target := range targets {
		entries.raw(target, t.entries[target])
	}
	o.raw("texts", entries.end())
	v := jsontext.Value(o.end())
	_ = v.Format(jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	return append(v, '\n')
}

// Get is the JSON text of a target, nil if there is none.
func (t *Texts) Get(target string) jsontext.Value {
	if t == nil {
		return nil
	}
	return t.entries[target]
}

// ReadTexts reads the file at path and keeps what is the text of l, as l's
// hashes say. It fails if the texts are of another lock.
func ReadTexts(path string, l *Lock) (*Texts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("kept text: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("kept text: %w", err)
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("kept text %s: longer than %d bytes", path, MaxFile)
	}
	t, err := parseTexts(text, l)
	if err != nil {
		return nil, fmt.Errorf("kept text %s: %w", path, err)
	}
	return t, nil
}

func parseTexts(text []byte, l *Lock) (*Texts, error) {
	n, err := parseNode(text)
	if err != nil {
		return nil, err
	}
	r := reader{}
	f := r.object(n, "", []string{"texts_version", "overall_digest", "texts"}, nil)
	if r.err != nil {
		return nil, r.err
	}
	if f.count("texts_version") != textsVersion {
		return nil, fmt.Errorf("texts_version is not %d", textsVersion)
	}
	t := &Texts{overall: f.hash("overall_digest"), entries: map[string]jsontext.Value{}}
	if r.err != nil {
		return nil, r.err
	}
	if t.overall != l.OverallDigest {
		return nil, errors.New("it is of another lock")
	}
	for _, m := range n.get("texts").members {
		entry := jsontext.Value(m.value.append(nil))
		if !l.holds(m.name, m.value, entry) {
			return nil, fmt.Errorf("%s is not what was pinned", shownText(m.name))
		}
		t.entries[m.name] = entry
	}
	return t, nil
}

// holds reports whether a text is what the lock has the hash of.
func (l *Lock) holds(target string, n *node, text []byte) bool {
	list, name, _ := strings.Cut(target, "/")
	switch list {
	case "server":
		h, err := Hash(text)
		return err == nil && (l.SchemaVersion < Level4 || h == l.InstructionsHash)
	case "tools":
		was := l.Tool(name)
		is, err := newTool(n, text, l.SchemaVersion)
		if was == nil || err != nil {
			return false
		}
		is.Inspection = was.Inspection
		return is.Name == name && is.digest(l.SchemaVersion) == was.EntryDigest
	case "resources":
		r, _, err := newResource(text)
		return err == nil && slices.ContainsFunc(l.Resources, func(was Resource) bool { return was.URI == name && was.EntryDigest == r.EntryDigest })
	case "prompts":
		p, _, err := newPrompt(text)
		return err == nil && slices.ContainsFunc(l.Prompts, func(was Prompt) bool { return was.Name == name && was.EntryDigest == p.EntryDigest })
	}
	return false
}
