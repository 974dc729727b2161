package aar

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
)

// walk holds the state that the writer of the file held, and the report.
type walk struct {
	opts   VerifyOptions
	report *Report
	key    *verifier // for assignKeys, which runs ahead by a batch

	session  uint64 // index of the Session, once began
	began    bool
	expected uint64 // seq of the next line
	tail     LineHash
	closed   bool // the last line was a verified close
	tampered bool
	ended    bool // torn: nothing follows

	decided   map[[16]byte]struct{} // approval ids, hashed
	keys      map[KeyID]struct{}    // those in report.Keys
	openCalls map[string]Position   // intents of this Session without their outcome
}

var errNoSignature = errors.New("line carries no signature")

type wrongKeyError struct{ found, want string }

func (e *wrongKeyError) Error() string {
	return "line was signed under key " + BoundedName(e.found) + ", not " + e.want
}

// fail ends the walk: the file contradicts itself.
func (w *walk) fail(r Reason) {
	w.tampered = true
	w.report.Verdict, w.report.Reason = Tampered, &r
}

// malformed is a row that is no Line of a Chain.
func (w *walk) malformed(c *candidate, detail string) {
	w.fail(Reason{Code: MalformedLine, Line: c.number, Detail: detail})
}

// cap notes that something could not be decided. The first reason is reported.
func (w *walk) cap(r Reason) {
	openTail := r.Code == UnanchoredTail || r.Code == TornFinalLine
	if w.report.Reason == nil {
		w.report.Verdict, w.report.Reason, w.report.openTailOnly = Indeterminate, &r, openTail
		return
	}
	w.report.openTailOnly = w.report.openTailOnly && openTail
}

func (w *walk) line(c *candidate) {
	w.report.Lines++
	w.closed = false
	if _, torn := errors.AsType[*SyntaxError](c.err); torn {
		if c.last {
			w.ended = true
			w.cap(Reason{Code: TornFinalLine, Line: c.number})
			return
		}
		w.malformed(c, "not JSON: "+c.err.Error())
		return
	}
	if c.err != nil {
		w.malformed(c, "outside the canonical value space, so it has no reproducible hash: "+c.err.Error())
		return
	}
	var prev LineHash
	switch {
	case !c.lineType.ok:
		w.malformed(c, "no line_type")
		return
	case !c.hasSeq:
		w.malformed(c, "no seq")
		return
	case !c.prevHash.ok || ParseHex(prev[:], c.prevHash.text) != nil:
		w.malformed(c, "no prev_hash")
		return
	}
	if LineType(c.lineType.text) == TypeOpen {
		w.openSession(c, prev)
	} else {
		w.follow(c, prev)
	}
	if w.tampered {
		return
	}
	w.signature(c)
	if w.tampered {
		return
	}
	w.content(c)
	w.tail = c.hash
	w.expected = c.seq + 1
}

// openSession checks an open Line's place in the file.
func (w *walk) openSession(c *candidate, prev LineHash) {
	if c.seq != 0 || prev != Genesis {
		w.malformed(c, "open line does not anchor on the genesis digest")
		return
	}
	w.endSession()
	if w.began {
		w.session++
		var found LineHash
		hasTail := c.prevTail.ok && ParseHex(found[:], c.prevTail.text) == nil
		if !hasTail || found != w.tail {
			r := Reason{Code: SessionBoundary, Session: w.session, Expected: w.tail.String()}
			if hasTail {
				r.Found = found.String()
			}
			w.fail(r)
			return
		}
	}
	w.began = true
	w.report.Sessions++
	if c.key == nil {
		w.malformed(c, "open line carries no public key")
		return
	}
	id := c.key.public.ID()
	if _, again := w.keys[id]; !again {
		w.keys[id] = struct{}{}
		w.report.Keys = append(w.report.Keys, id)
	}
	if w.opts.Pinned && !slices.Contains(w.opts.Trust, c.key.public) {
		w.fail(Reason{Code: UntrustedKey, Session: w.session, Found: c.key.id})
	}
}

// follow checks the place of any other Line.
func (w *walk) follow(c *candidate, prev LineHash) {
	switch {
	case !w.began:
		w.malformed(c, "chain does not begin with an open line")
	case prev != w.tail:
		w.fail(Reason{Code: ChainBroken, Session: w.session, Seq: c.seq, Found: prev.String(), Expected: w.tail.String()})
	case c.seq < w.expected:
		w.fail(Reason{Code: SeqOutOfOrder, Session: w.session, Seq: c.seq, ExpectedSeq: w.expected})
	case c.seq > w.expected:
		w.cap(Reason{Code: MissingLine, Session: w.session, Seq: c.seq, ExpectedSeq: w.expected})
	}
}

func (w *walk) signature(c *candidate) {
	at := Position{w.session, c.seq}
	if !c.needsSignature() {
		if c.signed { // an intent: hashed, so that nobody can alter it, but out of the specification
			w.report.SignedIntents = appendListed(w.report.SignedIntents, at)
		}
		return
	}
	if c.sigErr != nil {
		w.fail(Reason{Code: BadSignature, Session: at.Session, Seq: at.Seq, Detail: c.sigErr.Error()})
		return
	}
	w.report.Coverage = &at
	w.report.InFlight, w.report.InFlightCount = nil, 0
}

func (w *walk) content(c *candidate) {
	at := Position{w.session, c.seq}
	switch LineType(c.lineType.text) {
	case TypeOpen:
	case TypeIntent:
		id := BoundedName(c.callID.text) // a list of ids as long as lines would hold the file
		w.report.Calls++
		w.report.InFlightCount++
		w.report.InFlight = appendListed(w.report.InFlight, id)
		if len(w.openCalls) < MaxListed {
			w.openCalls[id] = at
		}
	case TypeOutcome:
		delete(w.openCalls, BoundedName(c.callID.text))
	case TypeDecision:
		if !c.approvalID.ok {
			return // it decides nothing
		}
		sum := sha256.Sum256([]byte(c.approvalID.text))
		id := [16]byte(sum[:])
		if _, again := w.decided[id]; again {
			w.fail(Reason{Code: DuplicateDecision, Session: at.Session, Seq: at.Seq, Found: BoundedName(c.approvalID.text)})
			return
		}
		w.decided[id] = struct{}{}
	case TypeClose:
		w.closed = true
	case TypeCheckpoint:
		w.cap(Reason{Code: ReservedCheckpoint, Session: at.Session, Seq: at.Seq})
	default:
		w.cap(Reason{Code: UnknownLineType, Session: at.Session, Seq: at.Seq, Found: BoundedName(c.lineType.text)})
	}
}

// endSession reports the intents that the Session left without an outcome.
func (w *walk) endSession() {
	left := slices.SortedFunc(maps.Keys(w.openCalls), func(a, b string) int {
		return cmp.Compare(w.openCalls[a].Seq, w.openCalls[b].Seq)
	})
	for _, id := range left {
		w.report.Unmatched = appendListed(w.report.Unmatched, UnmatchedIntent{CallID: id, At: w.openCalls[id]})
	}
	clear(w.openCalls)
}

func (w *walk) finish() *Report {
	if w.tampered {
		return w.report
	}
	w.endSession()
	if w.report.Lines == 0 {
		w.cap(Reason{Code: EmptyChain})
	} else if !w.closed && !w.ended {
		w.cap(Reason{Code: UnanchoredTail, Session: w.session, InFlight: w.report.InFlightCount})
	}
	return w.report
}

func appendListed[T any](list []T, v T) []T {
	if len(list) < MaxListed {
		return append(list, v)
	}
	return list
}
