package report

import (
	"errors"
	"fmt"
)

// MaxResults is how many results a SARIF document holds: code scanning takes no
// more of one run, and shows 5,000 of them.
const MaxResults = 25_000

// sarifSchema names the schema of the documents.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

const sarifHome = "https://github.com/aegis-aar/aegis"

// SARIF writes findings as one SARIF 2.1.0 document (OASIS, errata 01) with one
// run, each as it comes. On a regular file there is a whole document at any time,
// see [paged]; a document that was not closed says so: its executionSuccessful
// is false. On a pipe the document is whole when it is closed.
//
// The memory is a fingerprint for each of at most [MaxResults] results.
type SARIF struct {
	doc     document
	rules   map[string]int
	subject string // URI
	root    string
	prints  fingerprints
	buf     []byte
	results int
	skipped int64
}

// document is where the text of results goes.
type document interface {
	// add writes a result behind the others, at most blockSize bytes.
	add(text []byte) error
	// end replaces what comes behind the results, at most blockSize bytes.
	end(suffix []byte) error
	// finish is end, and then closes the file.
	finish(suffix []byte) error
	// drop closes the file as it is.
	drop()
}

// NewSARIF begins a document in file, which [SARIF] closes. Rules are all that
// may fire; subject is the path of the file that stands for findings without one.
func NewSARIF(file *File, version string, rules []Rule, subject string) (*SARIF, error) {
	s := &SARIF{rules: map[string]int{}, root: sourceRoot()}
	s.subject = relativeURI(subject, s.root)
	for i, r := range rules {
		s.rules[r.ID] = i
	}
	var err error
	s.doc, err = newDocument(file, sarifHead(version, rules), s.suffix(nil, nil))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sarifHead is the document up to the first result.
func sarifHead(version string, rules []Rule) []byte {
	m := members{dst: []byte{'{'}}
	m.text("$schema", sarifSchema, 256)
	m.text("version", "2.1.0", 16)
	m.dst = append(m.dst, `,"runs":[{"tool":{"driver":{`...)
	m.comma = false
	m.text("name", "aegis", 16)
	m.text("version", version, 256)
	m.text("informationUri", sarifHome, 256)
	m.name("rules")
	m.dst = append(m.dst, '[')
	for i, r := range rules {
		if i > 0 {
			m.dst = append(m.dst, ',')
		}
		m.dst = append(m.dst, '\n')
		m.dst = appendRule(m.dst, r)
	}
	return append(m.dst, "\n]}},\"results\":[\n"...)
}

func appendRule(dst []byte, r Rule) []byte {
	full, level := r.Full, r.Level
	if full == "" {
		full = r.Short
	}
	if level == "" {
		level = LevelOf(r.Severity)
	}
	m := members{dst: append(dst, '{')}
	m.text("id", r.ID, 256)
	for _, text := range []struct{ name, text string }{
		{"shortDescription", r.Short}, {"fullDescription", full}, {"help", r.Help},
	} {
		if text.text == "" {
			continue
		}
		m.name(text.name)
		inner := members{dst: append(m.dst, '{')}
		inner.text("text", text.text, 4096)
		m.dst = append(inner.dst, '}')
	}
	m.name("defaultConfiguration")
	m.dst = append(appendString(append(m.dst, `{"level":`...), level, 16), '}')
	m.name("properties")
	inner := members{dst: append(m.dst, '{')}
	inner.text("security-severity", securitySeverity(r.Severity), 16)
	inner.list("tags", []string{"security", "mcp"}, 2, 16)
	return append(inner.dst, '}', '}')
}

// securitySeverity is the score by which code scanning ranks a rule: over 9.0
// is critical there, 7.0 high, 4.0 medium, below it low.
func securitySeverity(severity string) string {
	switch severity {
	case Critical:
		return "9.5"
	case High:
		return "8.0"
	case Medium:
		return "5.5"
	default:
		return "2.0"
	}
}

// sarifLimits keep a result within blockSize: with those of appendResult and at
// most 1,200 bytes of names and punctuation they sum up to less.
var sarifLimits = limits{id: 64, name: 192, place: 256, snippet: 192, phrases: 6, phrase: 64}

func (s *SARIF) write(f *Finding) error {
	if s.results == MaxResults {
		if s.skipped++; s.skipped > 1 {
			return nil
		}
		if err := s.doc.end(s.suffix(nil, nil)); err != nil {
			return err
		}
		return fmt.Errorf("%w: %d results; further findings are only counted", errBound, MaxResults)
	}
	s.buf = s.buf[:0]
	if s.results > 0 {
		s.buf = append(s.buf, ',', '\n')
	}
	s.buf = s.appendResult(s.buf, f)
	if err := s.doc.add(s.buf); err != nil {
		return err
	}
	s.results++
	return nil
}

func (s *SARIF) appendResult(dst []byte, f *Finding) []byte {
	m := members{dst: append(dst, '{')}
	m.text("ruleId", f.RuleID, 128)
	if i, known := s.rules[f.RuleID]; known {
		m.number("ruleIndex", int64(i))
	}
	m.text("level", f.level(), 16)
	m.name("message")
	m.dst = append(m.dst, `{"text":`...)
	m.dst = append(appendString(m.dst, plainMessage(f), 900), '}')

	uri := s.subject
	if f.File != "" {
		uri = relativeURI(f.File, s.root)
	}
	m.name("locations")
	m.dst = append(m.dst, `[{"physicalLocation":{"artifactLocation":{"uri":`...)
	m.dst = append(appendString(m.dst, uri, maxURI), '}')
	if f.Line > 0 {
		m.dst = fmt.Appendf(m.dst, `,"region":{"startLine":%d}`, f.Line)
	}
	m.dst = append(m.dst, '}')
	if name := logicalName(f); name != "" {
		m.dst = append(m.dst, `,"logicalLocations":[{"fullyQualifiedName":`...)
		m.dst = append(appendString(m.dst, name, 256), '}', ']')
	}
	m.dst = append(m.dst, '}', ']')

	m.name("partialFingerprints")
	print := s.prints.of(f)
	m.dst = fmt.Appendf(m.dst, `{"aegisFinding/v1":"%s","primaryLocationLineHash":"%s"}`, print, print)
	m.name("properties")
	inner := members{dst: append(m.dst, '{')}
	inner.text("kind", f.kind(), 64)
	inner.facts(f, sarifLimits)
	return append(inner.dst, '}', '}')
}

// plainMessage is the message without what SARIF reads as a link (section
// 3.11.6): text of a server must not put one before a reviewer. A message may
// not be empty.
func plainMessage(f *Finding) string {
	if f.Message == "" {
		return f.RuleID
	}
	out := make([]byte, 0, len(f.Message))
	for i := range len(f.Message) {
		if f.Message[i] == '(' && i > 0 && f.Message[i-1] == ']' {
			out = append(out, ' ')
		}
		out = append(out, f.Message[i])
	}
	return string(out)
}

// logicalName says where in a surface or an answer the finding is.
func logicalName(f *Finding) string {
	switch {
	case f.Target != "":
		return f.Target
	case f.Tool != "":
		return "tools/" + f.Tool + f.place()
	}
	return f.place()
}

// suffix is the document behind the last result; sum is nil while the run goes on.
func (s *SARIF) suffix(sum *Summary, t *tally) []byte {
	var told []string
	switch {
	case sum == nil:
		told = append(told, "The run has not ended, or was killed: there may be more findings.")
	case sum.Failure != "":
		told = append(told, "The run ended before its time: "+sum.Failure)
	}
	if sum != nil && sum.Dropped > 0 {
		told = append(told, fmt.Sprintf("Answers had %d findings more than are told of one answer.", sum.Dropped))
	}
	switch {
	case s.skipped > 0 && sum != nil:
		told = append(told, fmt.Sprintf("The first %d findings are results; %d more are not.", MaxResults, s.skipped))
	case s.skipped > 0:
		told = append(told, fmt.Sprintf("The first %d findings are results; further ones are not.", MaxResults))
	}
	out := fmt.Appendf(nil, "\n],\"invocations\":[{\"executionSuccessful\":%t", sum != nil && sum.Failure == "")
	for i, text := range told {
		out = append(out, [2]string{`,"toolExecutionNotifications":[`, ","}[min(i, 1)]...)
		out = appendNotification(out, text)
	}
	if len(told) > 0 {
		out = append(out, ']')
	}
	out = append(out, "}]"...)
	if sum != nil {
		out = fmt.Appendf(out, `,"properties":{"frames_inspected":%d,"findings":%d,"inject_phrase_findings":%d}`, sum.Frames, t.findings, t.rules[injectPhrase])
	}
	return append(out, "}]}\n"...)
}

func appendNotification(dst []byte, text string) []byte {
	dst = append(dst, `{"level":"warning","message":{"text":`...)
	return append(appendString(dst, text, 1024), '}', '}')
}

func (s *SARIF) close(sum Summary, t *tally) error {
	return s.doc.finish(s.suffix(&sum, t))
}

func (s *SARIF) drop() { s.doc.drop() }

// newDocument chooses how file is written.
func newDocument(file *File, head, suffix []byte) (document, error) {
	if file.regular {
		return newPaged(file, head, suffix)
	}
	_, err := file.Write(head)
	return &streamed{file}, err
}

// streamed is a document in a pipe: whole at its end.
type streamed struct{ file *File }

func (d *streamed) add(text []byte) error {
	_, err := d.file.Write(text)
	return err
}

func (d *streamed) end([]byte) error { return nil }

func (d *streamed) drop() { d.file.Close() }

func (d *streamed) finish(suffix []byte) error {
	_, err := d.file.Write(suffix)
	return errors.Join(err, d.file.Close())
}
