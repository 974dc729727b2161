package policy

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
)

// member is a set of the members an outcome needs.
type member uint16

const (
	memberSchemaVersion member = 1 << iota
	memberLineType
	memberSeq
	memberPrevHash
	memberCallID
	memberToolID
	memberRequestDigest
	memberPolicySetHash
	memberPolicy
	memberCapability
	memberExecution
	memberDecisionAxes
	memberPhase // of schema version 1; no outcome needs it
)

// String is the name of a single member.
func (m member) String() string {
	if m == memberPhase {
		return "phase"
	}
	return memberNames[bits.TrailingZeros16(uint16(m))]
}

// memberNames are the names an outcome needs, in the order of their bits.
var memberNames = [...]string{
	"schema_version", "line_type", "seq", "prev_hash", "call_id", "tool_id", "request_digest",
	"policy_set_hash", "policy", "capability", "execution", "decision_axes",
}

// outcomeReader reads one line of a record in one pass of tokens. Member names
// are compared as they stand: a reader that folds case, or that keeps the last
// of two members, would judge what another reader does not see.
type outcomeReader struct {
	line   []byte
	offset int // in line, after the last token
	in     bytes.Buffer
	dec    *jsontext.Decoder

	lineType, phase []byte // nil if absent or no string
	anyOutcome      bool   // some line_type or phase is "outcome", if names repeat
	has             member // members that are present
	bad             member // the first member that does not read as it should
	twice           string // a member that occurs twice, of those that are read here
	surrogate       error  // half a surrogate pair, which other readers let pass

	otherSchema    bool // schema_version is a number other than 2
	seq            uint64
	callID, toolID []byte
	digests        [3][]byte // prev_hash, request_digest, policy_set_hash
	status         Status
	reason         []byte // of the policy station
	ruled          bool   // decision_axes name a rule
	resumed        bool   // decision_axes name the approval that released it
	axes           [3]*string
	derived        []byte // the text of decision_axes.derived; nil if absent
	locked         bool   // there was a lock: surface_digest is there
}

// read reads one line and reports whether it is one JSON value.
func (o *outcomeReader) read(line []byte) bool {
	err := o.walk(line)
	if err == nil {
		return true
	}
	// A line that spells half a surrogate pair is JSON to other readers. It may
	// be a Call, so it must not be passed over.
	if o.walk(line, jsontext.AllowInvalidUTF8(true)) != nil {
		return false
	}
	o.surrogate = err
	return true
}

// walk lets names repeat: the few that are read here are watched in take, which
// costs less than a set of all names.
func (o *outcomeReader) walk(line []byte, opts ...jsontext.Options) error {
	opts = append(opts, jsontext.AllowDuplicateNames(true))
	*o = outcomeReader{line: line, dec: o.dec, in: *bytes.NewBuffer(line)}
	if o.dec == nil {
		o.dec = jsontext.NewDecoder(&o.in, opts...)
	} else {
		o.dec.Reset(&o.in, opts...)
	}
	raw, err := o.token()
	if err != nil {
		return err
	}
	if raw[0] == '{' {
		err = o.members(o.member)
	} else {
		err = o.skip(raw)
	}
	if err != nil {
		return err
	}
	if _, err := o.dec.ReadToken(); err != io.EOF {
		return errors.New("bytes after the value")
	}
	return nil
}

// token reads the next token and returns its bytes, which lie in the line.
func (o *outcomeReader) token() ([]byte, error) {
	start := o.offset
	if _, err := o.dec.ReadToken(); err != nil {
		return nil, err
	}
	o.offset = int(o.dec.InputOffset())
	for {
		switch o.line[start] {
		case ',', ':', ' ', '\t', '\r', '\n':
			start++
			continue
		}
		return o.line[start:o.offset], nil
	}
}

// skip reads the rest of the value that raw begins.
func (o *outcomeReader) skip(raw []byte) error {
	if raw[0] != '{' && raw[0] != '[' {
		return nil
	}
	for depth := o.dec.StackDepth(); o.dec.StackDepth() >= depth; {
		if _, err := o.dec.ReadToken(); err != nil {
			return err
		}
	}
	o.offset = int(o.dec.InputOffset())
	return nil
}

// members reads the members of an object whose brace was read. each gets a
// name and the first token of its value, and reads the rest of it.
func (o *outcomeReader) members(each func(name, value []byte) error) error {
	for {
		name, err := o.token()
		if err != nil {
			return err
		}
		if name[0] == '}' {
			return nil
		}
		value, err := o.token()
		if err != nil {
			return err
		}
		if err := each(text(name), value); err != nil {
			return err
		}
	}
}

// text is what a string token says, or nil if it is another token.
func text(raw []byte) []byte {
	if raw[0] != '"' {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	s, _ := jsontext.AppendUnquote([]byte{}, raw)
	return s
}

// take notes that a member is there, and whether it reads as it should.
func (o *outcomeReader) take(m member, ok bool) {
	if o.has&m != 0 {
		o.twice = m.String()
	}
	o.has |= m
	if !ok && o.bad == 0 {
		o.bad = m
	}
}

// member reads one member of the line.
func (o *outcomeReader) member(name, value []byte) error {
	switch string(name) {
	case "line_type":
		o.lineType = text(value)
		o.anyOutcome = o.anyOutcome || string(o.lineType) == "outcome"
		o.take(memberLineType, o.lineType != nil)
	case "phase":
		o.phase = text(value)
		o.anyOutcome = o.anyOutcome || string(o.phase) == "outcome"
		o.take(memberPhase, true)
	case "schema_version":
		number := value[0] >= '0' && value[0] <= '9' || value[0] == '-'
		o.otherSchema = number && string(value) != "2"
		o.take(memberSchemaVersion, number)
	case "seq":
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err == nil {
			o.seq = n
		}
		o.take(memberSeq, err == nil)
	case "call_id":
		o.callID = text(value)
		o.take(memberCallID, o.callID != nil)
	case "tool_id":
		o.toolID = text(value)
		o.take(memberToolID, o.toolID != nil)
	case "prev_hash":
		o.digests[0] = value
		o.take(memberPrevHash, true)
	case "request_digest":
		o.digests[1] = value
		o.take(memberRequestDigest, true)
	case "policy_set_hash":
		o.digests[2] = value
		o.take(memberPolicySetHash, true)
	case "policy":
		return o.station(memberPolicy, value)
	case "capability":
		return o.station(memberCapability, value)
	case "execution":
		return o.station(memberExecution, value)
	case "decision_axes":
		return o.decisionAxes(value)
	case "surface_digest":
		o.locked = true
	}
	return o.skip(value)
}

// need is what a station must hold beside its status.
type need uint8

const (
	needReason need = 1 << iota
	needMessage
	needKind
	needApprovalID
	needGrant
	needKnownStatus // no status gives it
)

// station reads one of the three objects tagged by `status`. What else must be
// in it depends on the tag, which need not come first.
func (o *outcomeReader) station(m member, value []byte) error {
	if value[0] != '{' {
		o.take(m, false)
		return o.skip(value)
	}
	var has need
	needs, seen := needKnownStatus, false
	err := o.members(func(name, value []byte) error {
		isText := value[0] == '"'
		switch string(name) {
		case "status":
			if seen {
				o.twice = "status"
			}
			needs, seen = o.tag(m, text(value)), true
		case "reason":
			has |= given(needReason, isText)
			if m == memberPolicy {
				o.reason = text(value)
			}
		case "message":
			has |= given(needMessage, isText)
		case "kind":
			has |= given(needKind, isText)
		case "approval_id":
			has |= given(needApprovalID, isText)
		case "grant":
			has |= given(needGrant, value[0] == '{')
		}
		return o.skip(value)
	})
	o.take(m, has&needs == needs)
	return err
}

func given(n need, ok bool) need {
	if ok {
		return n
	}
	return 0
}

// tag takes the status of a station and says what it needs.
func (o *outcomeReader) tag(m member, status []byte) need {
	switch m {
	case memberPolicy:
		switch string(status) {
		case "allowed":
			o.status = Allowed
			return 0
		case "denied":
			o.status = Denied
			return needReason
		case "rate_limited":
			o.status = RateLimited
			return needReason
		case "pending_approval":
			o.status = PendingApproval
			return needApprovalID
		}
	case memberCapability:
		switch string(status) {
		case "granted":
			return needGrant
		case "denied":
			return needReason
		}
	case memberExecution:
		switch string(status) {
		case "success":
			return 0
		case "trap":
			return needMessage
		case "resource_exceeded":
			return needKind
		case "host_denied":
			return needReason
		}
	}
	return needKnownStatus
}

func (o *outcomeReader) decisionAxes(value []byte) error {
	if value[0] != '{' {
		o.take(memberDecisionAxes, false)
		return o.skip(value)
	}
	good := true
	refs := 0
	err := o.members(func(name, value []byte) error {
		axis := -1
		switch string(name) {
		case "capability":
			axis = 0
		case "role":
			axis = 1
		case "session":
			axis = 2
		case "approval_ref":
			if refs++; refs > 1 {
				o.twice = "approval_ref"
			}
			o.resumed = len(text(value)) > 0
		case "derived":
			if o.derived != nil {
				o.twice = "derived"
			}
			start := o.offset - len(value)
			err := o.skip(value)
			o.derived = o.line[start:o.offset]
			return err
		case "matched_rule":
			o.ruled = true
		default:
			return o.skip(value)
		}
		s := text(value)
		if s == nil {
			good = false
		} else if axis >= 0 {
			if o.axes[axis] != nil {
				o.twice = string(name)
			}
			asserted := string(s)
			o.axes[axis] = &asserted
		}
		return o.skip(value)
	})
	o.take(memberDecisionAxes, good)
	return err
}

// isOutcome routes the line: by line_type, or by phase, which was schema
// version 1's name for it.
func (o *outcomeReader) isOutcome() bool {
	switch {
	case o.twice != "":
		return o.anyOutcome
	case o.lineType != nil:
		return string(o.lineType) == "outcome"
	}
	return string(o.phase) == "outcome"
}

// fault says why the line does not read as an outcome, or "".
func (o *outcomeReader) fault() string {
	switch {
	case o.surrogate != nil:
		return o.surrogate.Error()
	case o.twice != "":
		return "duplicate `" + o.twice + "`"
	}
	for i, m := range [3]member{memberPrevHash, memberRequestDigest, memberPolicySetHash} {
		if o.has&m != 0 && o.bad == 0 && !isDigest(o.digests[i]) {
			o.bad = m
		}
	}
	for i, name := range memberNames {
		switch m := member(1) << i; {
		case o.has&m == 0:
			return "missing `" + name + "`"
		case o.bad == m:
			return "unreadable `" + name + "`"
		}
	}
	return ""
}

// isDigest reports a string token of 64 lowercase hex digits.
func isDigest(raw []byte) bool {
	if len(raw) != 66 || raw[0] != '"' {
		return false
	}
	for _, c := range raw[1:65] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// passThrough is [aar.PassThrough] as a token.
var passThrough = `"` + aar.PassThrough.String() + `"`

// namesNoTool reports a frame that was recorded without a tool, since it could
// be read in more than one way or was too long to read: one that no Policy Set
// was asked about, or that was refused by neither a rule nor the default.
func (o *outcomeReader) namesNoTool() bool {
	if string(o.toolID) != aar.UnknownTool || o.ruled {
		return false
	}
	return string(o.digests[2]) == passThrough || o.status == Denied && string(o.reason) != defaultDenyReason
}

// decidedBy reports whether the Call was decided under the Policy Set of hash.
func (o *outcomeReader) decidedBy(hash aar.PolicySetHash) bool {
	return string(o.digests[2]) == `"`+hash.String()+`"`
}

func (o *outcomeReader) request(tool string) Request {
	return Request{Tool: tool, Capability: o.axes[0], Role: o.axes[1], Session: o.axes[2]}
}
