package policy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/derive"
)

// Change is how the decision on one recorded Call would move under another
// Policy Set. Denied and rate limited count as one: blocked.
type Change uint8

// The five answers of a recheck. Indeterminate is never folded into Unchanged.
const (
	Indeterminate Change = iota
	Unchanged
	NewlyBlocked
	NewlyAllowed
	NewlyParked
	changeEnd
)

var changeTokens = [...]string{
	Indeterminate: "indeterminate", Unchanged: "unchanged",
	NewlyBlocked: "newly_blocked", NewlyAllowed: "newly_allowed", NewlyParked: "newly_parked",
}

// String is the change's token in the output of recheck.
func (c Change) String() string { return changeTokens[c] }

// Why a recorded Call cannot be decided again.
const (
	// UnknownPolicySetHash: the outcome is of another schema version.
	UnknownPolicySetHash = "unknown_policy_set_hash"
	// NoBinding: the line says it is an outcome but does not read as one, or the
	// argument half asks for a parameter that the record does not hold.
	NoBinding = "no_binding"
	// Truncated and Redacted: a parameter was too long for the record, or looked
	// like a secret.
	Truncated = string(derive.Truncated)
	Redacted  = string(derive.Redacted)
	// OtherDialect and OtherResolve: a query was read in another SQL dialect, a
	// path with or without its symlinks, than this policy asks for.
	OtherDialect = "dialect"
	OtherResolve = "resolve"
	// RateLimitUnevaluable: a rate_limit rule would win, and its window is
	// wall-clock state that no record carries.
	RateLimitUnevaluable = "rate_limit_unevaluable"
)

// Rechecked is the answer for one recorded Call.
type Rechecked struct {
	CallID  string // "-" if the line has none
	ToolID  string
	Session int    // index of the Session in the file, from 0
	Seq     uint64 // 0 if the line has none
	Line    int    // physical line, from 1

	Change   Change
	Was, Now Status // not of Indeterminate
	Why      string // of Indeterminate
	Rule     string // id of the rule that would decide now; empty if the default would
}

// Clause is the answer as recheck prints it.
func (r *Rechecked) Clause() string {
	switch r.Change {
	case Unchanged:
		return "unchanged " + r.Was.String()
	case NewlyBlocked, NewlyAllowed:
		return r.Change.String() + " was=" + r.Was.String() + " now=" + r.Now.String()
	case NewlyParked:
		return "newly_parked was=" + r.Was.String()
	}
	return "indeterminate " + r.Why
}

// Tally counts the answers of one recheck.
type Tally struct {
	counts [changeEnd]int
	rows   int // that are not blank
	lines  int // that say what type of a record's line they are
}

// NoRecord reports whether there was text and none of it a line of a record:
// another file than was meant.
func (t *Tally) NoRecord() bool { return t.rows > 0 && t.lines == 0 }

// Of is how many Calls got the answer c.
func (t *Tally) Of(c Change) int { return t.counts[c] }

// Calls is how many outcome records were answered for.
func (t *Tally) Calls() (n int) {
	for _, c := range t.counts {
		n += c
	}
	return n
}

// Changed is how many Calls would be decided otherwise.
func (t *Tally) Changed() int {
	return t.counts[NewlyBlocked] + t.counts[NewlyAllowed] + t.counts[NewlyParked]
}

// Note is a line of the record that was passed over or could not be read.
type Note struct {
	Line int // physical line, from 1
	Msg  string
}

// Recheck decides every outcome of a record again under s and gives each answer
// to answer, in file order; what it points to is valid only during the call.
// Nothing is executed, no counter and no approval id is consumed. Hashes and
// signatures are not looked at: what today's rules would have done is a fair
// question about a record that fails verification, too.
//
// Memory does not grow with the record. The error is one of reading, a
// [*RecordError], or what answer returned.
func Recheck(record io.Reader, s *Set, answer func(*Rechecked) error, note func(Note)) (Tally, error) {
	lines := newLineReader(record)
	var (
		tally    Tally
		out      outcomeReader
		result   Rechecked
		sessions int
	)
	for {
		line, err := lines.next()
		if err == io.EOF {
			return tally, nil
		}
		if err != nil {
			return tally, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		tally.rows++
		if !out.read(line) {
			note(Note{lines.n, "is not JSON, skipped"})
			continue
		}
		if out.lineType != nil || out.phase != nil {
			tally.lines++
		}
		if string(out.lineType) == "open" {
			sessions++
		}
		if !out.isOutcome() {
			continue
		}
		result = Rechecked{CallID: "-", ToolID: string(out.toolID), Session: max(0, sessions-1), Seq: out.seq, Line: lines.n}
		if out.callID != nil {
			result.CallID = string(out.callID)
		}
		if out.otherSchema {
			result.Why = UnknownPolicySetHash
		} else if fault := out.fault(); fault != "" {
			note(Note{lines.n, "is not a readable outcome record: " + fault})
			result.Why = NoBinding
		} else {
			s.decideAgain(&out, &result)
		}
		tally.counts[result.Change]++
		if err := answer(&result); err != nil {
			return tally, err
		}
	}
}

// decideAgain compares the recorded verdict with the one s gives.
func (s *Set) decideAgain(out *outcomeReader, r *Rechecked) {
	r.Was = out.status
	m := Match{Action: Deny} // of a frame that enforcement refuses whatever the rules say
	var a again
	if !out.namesNoTool() {
		tool := r.ToolID
		if long, ok := s.long[tool]; ok {
			tool = long
		}
		m = s.Evaluate(out.request(tool))
		if s.arguments != nil {
			a = s.arguments.judgeAgain(tool, out, out.decidedBy(s.hash))
		}
	}
	switch {
	case a.denied != nil:
		m, r.Rule = Match{Action: Deny}, a.denied.Rule
	case m.Action == Deny && m.Rule != nil:
		r.Rule = m.Rule.ID // a refusal whichever half it is that refuses
	case m.Action == Deny:
	case a.why != "":
		r.Why = a.why
		return
	case m.Rule != nil:
		r.Rule = m.Rule.ID
	}
	switch m.Action {
	case RateLimit:
		r.Why = RateLimitUnevaluable
		return
	case Allow:
		r.Now, r.Change = Allowed, NewlyAllowed
	case Deny:
		r.Now, r.Change = Denied, NewlyBlocked
	case PendApproval:
		r.Now, r.Change = PendingApproval, NewlyParked
	}
	wasBlocked := r.Was == Denied || r.Was == RateLimited
	switch {
	case r.Was == r.Now, wasBlocked && r.Now == Denied:
		r.Change = Unchanged
	case r.Now == PendingApproval && r.Was == Allowed && out.resumed:
		// It was parked then, too, and ran because a human approved it.
		r.Change = Unchanged
	}
}

// A RecordError says that a record cannot be read as text.
type RecordError struct {
	Line int // physical line, from 1
	Msg  string
}

func (e *RecordError) Error() string { return fmt.Sprintf("line %d %s", e.Line, e.Msg) }

// CheckRecord reads a record for what would stop [Recheck] half way: a line
// that is too long, or not UTF-8. The last line may break off in mid-character.
func CheckRecord(record io.Reader) error {
	lines := newLineReader(record)
	for {
		line, err := lines.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !utf8.Valid(line) && !lines.torn:
			return &RecordError{lines.n, "is not UTF-8"}
		}
	}
}

// lineReader gives the physical lines of a record.
type lineReader struct {
	r    *bufio.Reader
	long []byte // a line that does not fit into the buffer
	n    int    // number of the last line
	torn bool   // the last line has no line feed
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 1<<18)}
}

// next returns the next line without its line feed, valid until the call after.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.n++
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if l.long = append(l.long, line...); len(l.long) > aar.MaxLine {
				return nil, &RecordError{l.n, fmt.Sprintf("is longer than %d bytes", aar.MaxLine)}
			}
			line, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if err == io.EOF && len(line) > 0 {
		l.torn = true
		return line, nil
	}
	if err != nil {
		return nil, err
	}
	return line[:len(line)-1], nil
}
