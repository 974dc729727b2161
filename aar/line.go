package aar

import "github.com/go-json-experiment/json"

// SchemaVersion is the schema_version of every Line this package writes.
const SchemaVersion = 2

// MaxLine is the longest Line that is read, in bytes.
const MaxLine = 16 << 20

// LineType is the line_type of a Line (specification, section 5.1).
type LineType string

// The six Line types of schema version 2.
const (
	TypeOpen       LineType = "open"
	TypeIntent     LineType = "intent"
	TypeOutcome    LineType = "outcome"
	TypeDecision   LineType = "decision"
	TypeClose      LineType = "close"
	TypeCheckpoint LineType = "checkpoint"
)

// Line is one Line of a Chain: one of the six types below.
type Line interface {
	// Type is the Line's line_type.
	Type() LineType
	chain() *Link
}

// Signed is a Line of the signed set: every type but intent. An intent has no
// Seal, so there is no way to hand one to the signer.
type Signed interface {
	Line
	seal() *Seal
}

// Link holds the members that every Line carries. The [Writer] assigns them.
type Link struct {
	SchemaVersion uint64   `json:"schema_version"`
	LineType      LineType `json:"line_type"`
	Seq           uint64   `json:"seq"`       // position within the Session, from 0
	PrevHash      LineHash `json:"prev_hash"` // hash of the Line before, or Genesis
}

func (l *Link) chain() *Link { return l }

// Seal holds the members that every signed Line carries. The [Writer] fills them.
type Seal struct {
	KeyID     *KeyID     `json:"key_id,omitzero"`
	Signature *Signature `json:"signature,omitzero"`
}

func (s *Seal) seal() *Seal { return s }

// Open begins a Session and publishes the key that signs it.
type Open struct {
	Link
	Seal
	// PrevSessionTail is the hash of the last Line of the Session before; nil
	// only in a fresh file.
	PrevSessionTail *LineHash `json:"prev_session_tail,omitzero"`
	PublicKey       PublicKey `json:"public_key"`
}

// Intent is written, and made durable, before a Call's request is forwarded.
type Intent struct {
	Link
	CallID        string        `json:"call_id"`
	ToolID        string        `json:"tool_id"`
	RequestDigest RequestDigest `json:"request_digest"`
}

// Outcome is the Agent Action Record itself: one for each Call, on every exit path.
type Outcome struct {
	Link
	Seal
	CallID         string          `json:"call_id"`
	ToolID         string          `json:"tool_id"`
	RequestDigest  RequestDigest   `json:"request_digest"`
	PolicySetHash  PolicySetHash   `json:"policy_set_hash"`
	Policy         Policy          `json:"policy"`
	Capability     Capability      `json:"capability"`
	Execution      Execution       `json:"execution"`
	GrantID        string          `json:"grant_id,omitzero"`
	ResponseDigest *ResponseDigest `json:"response_digest,omitzero"`
	// WallMS is the round trip of the Call in milliseconds; nil when nothing ran.
	WallMS *uint64 `json:"wall_ms,omitzero"`
	// PeakMemoryBytes is nil where nothing was measured.
	PeakMemoryBytes *uint64 `json:"peak_memory_bytes,omitzero"`
	DecisionAxes    Axes    `json:"decision_axes"`

	// Members this project adds to the specification's. A reader that ignores
	// them still verifies the Line.

	// ReceivedDigest is of the child's bytes, where they differ from those written to the client.
	ReceivedDigest *ResponseDigest `json:"received_digest,omitzero"`
	Findings       []Finding       `json:"findings,omitempty"`
	SurfaceDigest  *SurfaceDigest  `json:"surface_digest,omitzero"` // the lock in force
	Confinement    *Confinement    `json:"confinement,omitzero"`
}

// Finding is what inspection found in a response, and what was done about it.
type Finding struct {
	Rule   string `json:"rule"`
	Action string `json:"action"`
}

// Confinement says what the kernel enforced on the child, not what was asked.
type Confinement struct {
	Level      string `json:"level"` // full, partial or none
	BestEffort bool   `json:"best_effort,omitzero"`

	// The members below are those of the close Line: an Outcome says no more than
	// the level.

	LandlockABI uint64    `json:"landlock_abi,omitzero"`
	PlanDigest  string    `json:"plan_digest,omitzero"` // SHA-256 of the plan's canonical JSON
	Controls    []Control `json:"controls,omitempty"`
	// Cause tells an end that confinement had to do with from an ordinary one:
	// `killed by seccomp`, `killed by seccomp in a child process` or `denied`.
	Cause string `json:"cause,omitzero"`
}

// Control is one thing that confinement asked of the kernel.
type Control struct {
	Name      string `json:"name"`
	Requested bool   `json:"requested"`
	Enforced  bool   `json:"enforced"`
	Why       string `json:"why,omitzero"` // why it is not enforced, or falls short
}

// Decision is a human's verdict on a parked Call.
type Decision struct {
	Link
	Seal
	ApprovalID string  `json:"approval_id"`
	Verdict    Verdict `json:"verdict"`
}

// Close ends a Session in good order.
type Close struct {
	Link
	Seal
	// Confinement and Child are added to the specification's members.
	Confinement *Confinement `json:"confinement,omitzero"`
	Child       *ChildExit   `json:"child,omitzero"`
}

// ChildExit says how the server process ended. At most one of ExitCode and
// Signal is set; neither is if the child never started.
type ChildExit struct {
	ExitCode *uint64 `json:"exit_code,omitzero"`
	Signal   string  `json:"signal,omitzero"`
	Stage    string  `json:"stage"` // start or run
}

// Checkpoint is reserved by the specification: it is read, never written.
type Checkpoint struct {
	Link
	Seal
}

// Type implements [Line].
func (*Open) Type() LineType       { return TypeOpen }
func (*Intent) Type() LineType     { return TypeIntent }     // Type implements [Line].
func (*Outcome) Type() LineType    { return TypeOutcome }    // Type implements [Line].
func (*Decision) Type() LineType   { return TypeDecision }   // Type implements [Line].
func (*Close) Type() LineType      { return TypeClose }      // Type implements [Line].
func (*Checkpoint) Type() LineType { return TypeCheckpoint } // Type implements [Line].

// Grant is the authority a Call ran under (specification, section 5.3).
type Grant struct {
	GrantID        string    `json:"grant_id"`
	ToolID         string    `json:"tool_id"`
	FS             *FSGrant  `json:"fs,omitzero"`
	Net            *NetGrant `json:"net,omitzero"`
	MaxMemoryBytes uint64    `json:"max_memory_bytes"`
	MaxWallMS      uint64    `json:"max_wall_ms"`
	MaxOutputBytes uint64    `json:"max_output_bytes"`
}

// FSGrant lists the roots a Call may read and write.
type FSGrant struct {
	ReadPaths  []string `json:"read_paths"`
	WritePaths []string `json:"write_paths"`
}

// NetGrant lists the hosts a Call may reach.
type NetGrant struct {
	HTTP []HTTPGrant `json:"http"`
}

// HTTPGrant is one host with its ports and methods.
type HTTPGrant struct {
	Host    string   `json:"host"`
	Ports   []uint16 `json:"ports"`
	Methods []string `json:"methods"`
}

// Axes are the inputs a verdict turned on. The object is always present in an
// Outcome: `{}` says that this emitter recorded none.
type Axes struct {
	Capability  *string  `json:"capability,omitzero"`
	Role        *string  `json:"role,omitzero"`
	Session     *string  `json:"session,omitzero"`
	MatchedRule string   `json:"matched_rule,omitzero"`
	ApprovalRef string   `json:"approval_ref,omitzero"`
	FS          *FSAxis  `json:"fs,omitzero"`
	Net         *NetAxis `json:"net,omitzero"`
	// Derived holds the derived parameters of the argument policy, in argument
	// order (an addition to the specification's seven members). Nil says that
	// none were derived, an empty list that there were none.
	Derived []Derived `json:"derived,omitzero"`
}

// FSAxis is the single root a grant resolved to. The two spellings may differ,
// and a difference is itself evidence.
type FSAxis struct {
	PathRaw       string `json:"path_raw"`
	PathCanonical string `json:"path_canonical"`
}

// NetAxis is the single host and port a grant resolved to.
type NetAxis struct {
	Host string `json:"host"`
	Port uint16 `json:"port"`
}

// Derived is one parameter derived from one argument of a Call. Axis says which
// of the other members are present.
type Derived struct {
	Axis      string   `json:"axis,omitzero"` // fs.read, fs.write, net, exec or sql
	Arg       string   `json:"arg,omitzero"`  // JSON pointer into the arguments
	PathRaw   string   `json:"path_raw,omitzero"`
	Path      string   `json:"path,omitzero"`
	Resolved  string   `json:"resolved,omitzero"` // lexical or at-decision
	Scheme    string   `json:"scheme,omitzero"`
	Host      string   `json:"host,omitzero"`
	Port      *uint16  `json:"port,omitzero"`
	Words     []string `json:"words,omitempty"`
	Metachar  *bool    `json:"metachar,omitzero"`
	Kinds     []string `json:"kinds,omitempty"`
	Dialect   string   `json:"dialect,omitzero"`
	Stacked   *bool    `json:"stacked,omitzero"`
	Truncated bool     `json:"truncated,omitzero"` // with SHA256, in place of what was too long
	SHA256    string   `json:"sha256,omitzero"`
	Redacted  bool     `json:"redacted,omitzero"` // some text of it looked like a secret and was redacted; never hashed
}

// Scope is the authority that an approval granted.
type Scope struct {
	ToolID string    `json:"tool_id"`
	FS     *FSGrant  `json:"fs,omitzero"`
	Net    *NetGrant `json:"net,omitzero"`
}

// ParseLine reads one Line. The text need not be canonical, but must be within
// the value space; members the type does not define are ignored. The error is
// a *[SyntaxError], a *[ValueError] or a *[LineError].
//
// ParseLine checks no hash and no signature: that is [Verify]'s.
func ParseLine(text []byte) (Line, error) {
	canonical, err := Canonicalize(text)
	if err != nil {
		return nil, err
	}
	var link struct {
		LineType *LineType `json:"line_type"`
	}
	if err := json.Unmarshal(canonical, &link); err != nil || link.LineType == nil {
		return nil, &LineError{Reason: "no line_type", Err: err}
	}
	line := newLine(*link.LineType)
	if line == nil {
		return nil, &LineError{Type: *link.LineType, Reason: "unknown line type"}
	}
	if err := json.Unmarshal(canonical, line); err != nil {
		return nil, &LineError{Type: *link.LineType, Reason: "not a readable line", Err: err}
	}
	return line, nil
}

func newLine(t LineType) Line {
	switch t {
	case TypeOpen:
		return &Open{}
	case TypeIntent:
		return &Intent{}
	case TypeOutcome:
		return &Outcome{}
	case TypeDecision:
		return &Decision{}
	case TypeClose:
		return &Close{}
	case TypeCheckpoint:
		return &Checkpoint{}
	}
	return nil
}

// A LineError says that a text is canonicalizable JSON but not a Line that
// this version reads, or that a Line holds what no Line can be written with.
type LineError struct {
	Type   LineType
	Reason string
	Err    error
}

func (e *LineError) Error() string {
	s := e.Reason
	if e.Type != "" {
		s = string(e.Type) + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *LineError) Unwrap() error { return e.Err }
