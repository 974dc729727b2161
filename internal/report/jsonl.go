package report

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// maxJSONL bounds a file of findings in bytes. A server that makes a finding
// with every frame must not fill the disk.
const maxJSONL = 256 << 20

// errBound is wrapped by the errors of an output that has reached its bound: it
// is told once, and the output still has its end to write.
var errBound = errors.New("the bound of the file is reached")

// JSONL writes findings as JSON lines, each in one write as it comes, and a
// last line of kind run-summary. A killed run has no last line.
type JSONL struct {
	w       io.WriteCloser
	line    []byte
	size    int64
	bound   int64
	skipped int64
}

// NewJSONL writes to w, which [JSONL] closes.
func NewJSONL(w io.WriteCloser) *JSONL { return &JSONL{w: w, bound: maxJSONL} }

var jsonlLimits = limits{id: 1024, name: 1024, place: 4096, snippet: 1024, phrases: 64, phrase: 1024}

func (j *JSONL) write(f *Finding) error {
	if j.skipped > 0 {
		j.skipped++
		return nil
	}
	m := members{dst: append(j.line[:0], '{')}
	m.text("kind", f.kind(), 64)
	m.text("rule_id", f.RuleID, 256)
	m.text("level", f.level(), 64)
	m.facts(f, jsonlLimits)
	m.text("file", f.File, 4096)
	if f.Line > 0 {
		m.number("line", int64(f.Line))
	}
	m.text("message", f.Message, 4096)
	j.line = append(m.dst, '}', '\n')
	if j.size+int64(len(j.line)) > j.bound {
		j.skipped = 1
		return fmt.Errorf("%w: %d bytes; further findings are only counted", errBound, j.bound)
	}
	return j.put()
}

func (j *JSONL) put() error {
	n, err := j.w.Write(j.line)
	j.size += int64(n)
	return err
}

func (j *JSONL) drop() { j.w.Close() }

func (j *JSONL) close(s Summary, t *tally) error {
	m := members{dst: append(j.line[:0], '{')}
	m.text("kind", "run-summary", 64)
	m.number("frames_inspected", s.Frames)
	m.text("failure", s.Failure, 1024)
	m.number("findings", t.findings)
	m.number("inject_phrase_findings", t.rules[injectPhrase])
	m.counts("actions", t.actions)
	m.counts("rules", t.rules)
	if s.Dropped > 0 {
		m.number("findings_dropped", s.Dropped)
	}
	if j.skipped > 0 {
		m.number("findings_not_written", j.skipped)
	}
	j.line = append(m.dst, '}', '\n')
	return errors.Join(j.put(), j.w.Close())
}

// counts writes an object of numbers, its members in order.
func (m *members) counts(name string, counts map[string]int64) {
	m.name(name)
	inner := members{dst: append(m.dst, '{')}
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if inner.comma {
			inner.dst = append(inner.dst, ',')
		}
		inner.comma = true
		inner.dst = append(appendString(inner.dst, key, 256), ':')
		inner.dst = fmt.Appendf(inner.dst, "%d", counts[key])
	}
	m.dst = append(inner.dst, '}')
}

const injectPhrase = "WRD-RES-INJECT-PHRASE"

// maxRules bounds the rules that are counted by name.
const maxRules = 1024

// tally counts the findings of a run.
type tally struct {
	findings       int64
	actions, rules map[string]int64
	err            error // the first failure of an output
}

func newTally() tally {
	return tally{actions: map[string]int64{}, rules: map[string]int64{}}
}

func (t *tally) add(f *Finding) {
	t.findings++
	if f.Action != "" {
		t.actions[string(f.Action)]++
	}
	if _, known := t.rules[f.RuleID]; known || len(t.rules) < maxRules {
		t.rules[f.RuleID]++
	}
}
