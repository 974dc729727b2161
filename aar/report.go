package aar

import "fmt"

// MaxListed bounds each list of a [Report]. Counts go on.
const MaxListed = 1 << 16

// State is one of the three verdicts of a verification.
type State uint8

// The three verdicts (specification, section 8). The zero State is Verified
// only in a Report that Verify returned.
const (
	Verified      State = iota // every line parsed, chained, verified, and the file ends with a verified close
	Tampered                   // the file contradicts itself
	Indeterminate              // nothing contradicts the file, but something could not be decided
)

func (s State) String() string { return [...]string{"Verified", "Tampered", "Indeterminate"}[s] }

// ExitCode is the exit code of `aegis verify` for the verdict. 2 is left for a
// file that could not be read.
func (s State) ExitCode() int { return [...]int{0, 1, 3}[s] }

// Position is a place in a record file: seq restarts in every Session.
type Position struct {
	Session uint64 `json:"session"` // ordinal of the Session in the file, from 0
	Seq     uint64 `json:"seq"`
}

// Report is the result of a verification.
type Report struct {
	Verdict  State
	Reason   *Reason   // nil when Verified
	Pinned   bool      // a trust slice was supplied
	Keys     []KeyID   // of every open Line, first seen first
	Coverage *Position // the last position that a valid signature reached

	// InFlight holds the call ids, in their [BoundedName], of the intents behind
	// the last valid signature, in file order: the first MaxListed of InFlightCount.
	InFlight      []string
	InFlightCount uint64

	// What follows is reported and turns no verdict.

	Sessions, Lines, Calls uint64
	// Unmatched are intents without an outcome in their Session.
	Unmatched []UnmatchedIntent
	// SignedIntents are intents that carry a signature. Nobody checks it.
	SignedIntents []Position

	openTailOnly bool
}

// UnmatchedIntent is an intent that no outcome of its Session answers.
type UnmatchedIntent struct {
	CallID string   `json:"call_id"`
	At     Position `json:"at"`
}

// OpenTailOnly tells whether the record is Indeterminate for no other reason
// than an unanchored or torn tail: what a live file looks like. One that no
// signature covers any of is no live file.
func (r *Report) OpenTailOnly() bool {
	return r.Verdict == Indeterminate && r.openTailOnly && r.Coverage != nil
}

// NotChecked lists what Verify leaves to its reader, one short sentence each.
var NotChecked = []string{
	"schema_version",
	"prev_session_tail of the first session in the file",
	"signatures on intent lines",
	"lines after a close in the same session (accepted if they chain)",
	"intents without an outcome (reported, no verdict)",
	"what was removed behind the last line: only an anchor outside the file can tell",
	"whether what the emitter recorded is what happened",
}

// ReasonCode names a class of Tampered or Indeterminate.
type ReasonCode string

// Classes of Tampered (specification, section 8.1).
const (
	ChainBroken       ReasonCode = "chain_broken"
	SeqOutOfOrder     ReasonCode = "seq_out_of_order"
	BadSignature      ReasonCode = "bad_signature"
	SessionBoundary   ReasonCode = "session_boundary_broken"
	MalformedLine     ReasonCode = "malformed_line"
	UntrustedKey      ReasonCode = "untrusted_key"
	DuplicateDecision ReasonCode = "duplicate_decision"
)

// Classes of Indeterminate (specification, section 8.2).
const (
	UnknownLineType    ReasonCode = "unknown_line_type"
	ReservedCheckpoint ReasonCode = "reserved_checkpoint"
	TornFinalLine      ReasonCode = "torn_final_line"
	UnanchoredTail     ReasonCode = "unanchored_tail"
	MissingLine        ReasonCode = "missing_line"
	EmptyChain         ReasonCode = "empty_chain"
)

// Reason says why a record is not Verified. Which members are set depends on Code.
type Reason struct {
	Code            ReasonCode
	Session, Seq    uint64
	Line            uint64 // from 1, blank rows not counted
	ExpectedSeq     uint64
	Found, Expected string // digests, a key id, an approval id or a line type
	InFlight        uint64
	Detail          string
}

// At is the line the reason is about, if it has a place in a Session.
func (r Reason) At() (at Position, ok bool) {
	switch r.Code {
	case MalformedLine, TornFinalLine, UnanchoredTail, SessionBoundary, EmptyChain:
		return Position{}, false
	}
	return Position{r.Session, r.Seq}, true
}

func (r Reason) String() string {
	switch r.Code {
	case ChainBroken:
		return fmt.Sprintf("line at session %d seq %d chains to %s, but the line before it hashes to %s", r.Session, r.Seq, r.Found, r.Expected)
	case SeqOutOfOrder:
		return fmt.Sprintf("session %d expected seq %d, found %d", r.Session, r.ExpectedSeq, r.Seq)
	case BadSignature:
		return fmt.Sprintf("line at session %d seq %d: %s", r.Session, r.Seq, r.Detail)
	case SessionBoundary:
		if r.Found == "" {
			return fmt.Sprintf("session %d carries no prev_session_tail, but the previous session ends at %s", r.Session, r.Expected)
		}
		return fmt.Sprintf("session %d back-references %s, but the previous session ends at %s", r.Session, r.Found, r.Expected)
	case MalformedLine:
		return fmt.Sprintf("line %d: %s", r.Line, r.Detail)
	case UntrustedKey:
		return fmt.Sprintf("session opened at session %d seq 0 publishes a key with fingerprint %s, which is not in the supplied trust store (--key takes the 64-hex public key, not this fingerprint)", r.Session, r.Found)
	case DuplicateDecision:
		return fmt.Sprintf("line at session %d seq %d decides approval %s a second time", r.Session, r.Seq, r.Found)
	case UnknownLineType:
		return fmt.Sprintf("unknown line type `%s` at session %d seq %d, newer emitter", r.Found, r.Session, r.Seq)
	case ReservedCheckpoint:
		return fmt.Sprintf("reserved checkpoint line at session %d seq %d, not defined by v0", r.Session, r.Seq)
	case TornFinalLine:
		return fmt.Sprintf("final line %d does not parse; torn write", r.Line)
	case UnanchoredTail:
		return fmt.Sprintf("session %d has no close record and nothing anchors beyond it; %d call(s) in flight", r.Session, r.InFlight)
	case MissingLine:
		return fmt.Sprintf("session %d skips seq %d..%d with the chain intact; a write did not land", r.Session, r.ExpectedSeq, r.Seq)
	case EmptyChain:
		return "no lines to verify"
	}
	return string(r.Code)
}

// Headline is the first line of the report: the verdict and its label or reason.
func (r *Report) Headline() string {
	switch {
	case r.Verdict != Verified:
		return r.Verdict.String() + ": " + r.Reason.String()
	case !r.Pinned:
		return "Verified (unpinned)"
	case len(r.Keys) == 1:
		return "Verified (pinned to " + r.Keys[0].String() + ")"
	}
	return "Verified (pinned)"
}

// Text is the report as `aegis verify` prints it, a string for each line. Text
// out of the file is as it stood there, line ends included: escape each string
// before a terminal sees it.
func (r *Report) Text() []string {
	lines := []string{r.Headline()}
	for _, id := range r.Keys {
		lines = append(lines, "key_id "+id.String())
	}
	if r.Coverage != nil {
		lines = append(lines, fmt.Sprintf("coverage session %d seq %d", r.Coverage.Session, r.Coverage.Seq))
	}
	if r.Reason != nil && r.Reason.Code == UnanchoredTail {
		for _, id := range r.InFlight {
			lines = append(lines, "in_flight "+id)
		}
	}
	return lines
}

// String is the Headline.
func (r *Report) String() string { return r.Headline() }
