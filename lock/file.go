package lock

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
)

// The levels of the format that are read and written.
const (
	// Level3 is mcp-warden's format: of a tool it pins the description and the
	// input schema.
	Level3 = 3
	// Level4 pins whole tool objects and the server's instructions as well.
	Level4 = 4
)

// Lock is a lock file. One that was obtained from [New], [Parse] or [Read] adds
// up: every digest is the digest of what it is said to be of.
type Lock struct {
	SchemaVersion    int
	WardenVersion    string
	Server           Server
	InstructionsHash string     // Level4 only; no instructions hash as null does
	Tools            []Tool     // by name, in byte order
	Resources        []Resource // by URI
	Prompts          []Prompt   // by name
	Findings         []Finding  // of the static checks when it was pinned; not part of OverallDigest
	OverallDigest    string
	Pin              Pin
	Signature        *Signature // nil if it is not signed
}

// Server says what was started, or asked.
type Server struct {
	Command string
	Args    []string
	URL     string // instead of Command and Args
	// CommandDigest is the hash of {args, command}, or of {url}.
	CommandDigest string
}

// Tool is the pin of one tool.
type Tool struct {
	Name             string
	DescriptionHash  string // absent and null hash as ""
	InputSchemaHash  string // absent, null and what is no object hash as {}
	AnnotationsHash  string // Level4 only; absent hashes as null
	OutputSchemaHash string // Level4 only; absent hashes as null
	DefinitionHash   string // Level4 only; the whole object
	Capabilities     []string
	Skeleton         Skeleton
	Inspection       *Inspection // nil if none is declared
	EntryDigest      string      // of all of this but itself
}

// Inspection is what a human declares of a tool's results, so that guard
// inspects them less strictly. What is nil has the most protection.
type Inspection struct {
	Charset           *string // text, extended or binary-ok
	MayReturnURLs     *bool
	SecretEchoApplies *bool
}

// Declaration is what the inspection of results makes of it. An unknown charset
// is text.
func (i *Inspection) Declaration() inspect.Declaration {
	var d inspect.Declaration
	if i == nil {
		return d
	}
	if i.Charset != nil {
		if c, ok := inspect.ParseCharset(*i.Charset); ok {
			d.Charset = c
		}
	}
	d.MayReturnURLs = i.MayReturnURLs != nil && *i.MayReturnURLs
	d.SecretEchoExempt = i.SecretEchoApplies != nil && !*i.SecretEchoApplies
	return d
}

func (i *Inspection) empty() bool {
	return i == nil || i.Charset == nil && i.MayReturnURLs == nil && i.SecretEchoApplies == nil
}

// Resource is the pin of one resource.
type Resource struct {
	URI             string
	Name            *string
	DescriptionHash string
	MIMEType        *string
	EntryDigest     string
}

// Prompt is the pin of one prompt.
type Prompt struct {
	Name            string
	DescriptionHash string
	ArgumentsHash   string // absent and null hash as []
	EntryDigest     string
}

// Finding is a fact that a static check tells of a definition or of the command.
type Finding struct {
	RuleID   string
	Severity string // critical, high, medium or low
	Target   string // tools/NAME, resources/URI, prompts/NAME, launch/command, server/instructions
	Message  string
	Snippet  string // never a secret
}

// Pin says when, by whom and for whom the lock was made. Times are RFC 3339 in
// UTC, to the second.
type Pin struct {
	CreatedAt          string
	WardenVersion      string
	MCPProtocolVersion string

	// An approval names the digest that was approved. One of another surface is
	// no approval of this one: such a lock is refused.
	Approved       bool
	Approver       *string
	ApprovedAt     *string
	ApprovedDigest *string

	Pinner        *Pinner
	Attestations  []Attestation // in the order they were made
	RotatedAt     *string
	RotationCount int
}

// Pinner is the program that wrote the lock.
type Pinner struct {
	Tool        string
	ToolVersion string
	Actor       *string
	Environment *string
}

// Attestation is what somebody said of the pinned surface. Who it was is what
// they said themselves, unless the lock is signed.
type Attestation struct {
	Actor           string
	Role            string // approver, pinner
	Method          string // manual
	CreatedAt       string
	BoundDigest     string // the OverallDigest it is about
	Note            *string
	SignatureBundle *string // of mcp-warden; read, kept and never looked at
}

// Signature is an ed25519 signature over what [Lock.Signed] returns.
type Signature struct {
	KeyID     aar.KeyID
	PublicKey aar.PublicKey
	Value     aar.Signature
}

// Surface is what a server sent: each object is the JSON text as it came.
type Surface struct {
	Command string
	Args    []string
	URL     string // instead of Command and Args

	ProtocolVersion string
	// Instructions is the JSON text of the instructions, nil without any.
	Instructions jsontext.Value

	Tools, Resources, Prompts []jsontext.Value
}

// PinOptions say how a [Surface] becomes a [Lock].
type PinOptions struct {
	Schema  int    // Level3 or Level4
	Version string // of this program
	Now     time.Time

	// Keep is a lock whose declarations of inspection are kept for tools of the
	// same names; it may be nil.
	Keep *Lock
	// Approver approves the lock, unless it is empty.
	Approver string
}

// Drift is one fact in which a surface differs from its pin.
type Drift struct {
	Class    string // schema-enum-widened
	Severity string // critical, high, medium or low
	Rule     string // WRD-DRIFT-SCHEMA-ENUM-WIDENED
	Target   string // tools/NAME, resources/URI, prompts/NAME, launch/command, server/instructions, pin/approved_digest
	Message  string // one sentence for people; names come from the server
	Detail   string // what it was and what it is, for facts of a schema
}

// Tool is the pin of the tool of that name, nil if there is none.
func (l *Lock) Tool(name string) *Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}

// String is the declarations as `name=value`, in the order of the file.
func (i *Inspection) String() string {
	var parts []string
	if i.Charset != nil {
		parts = append(parts, "expected_output_charset="+*i.Charset)
	}
	if i.MayReturnURLs != nil {
		parts = append(parts, "may_return_urls="+strconv.FormatBool(*i.MayReturnURLs))
	}
	if i.SecretEchoApplies != nil {
		parts = append(parts, "secret_echo_applies="+strconv.FormatBool(*i.SecretEchoApplies))
	}
	return strings.Join(parts, ", ")
}

// Edited reports whether a tool's entry of a draft is not the one that was pinned.
func (l *Lock) Edited(tool string) bool {
	t := l.Tool(tool)
	return t != nil && t.EntryDigest != t.digest(l.SchemaVersion)
}
