package interpose

import (
	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// A Voice words what the relay authors: JSON-RPC errors that answer requests
// whose own answer there is none of. Nothing else is authored.
type Voice interface {
	// Name is the command's, for notes on stderr.
	Name() string
	// Refused appends the answer to a request that did not reach the server.
	Refused(dst []byte, r Refusal) []byte
	// Gone appends the answer to a request that the server will not answer any
	// more, because it is gone or because of abort, if that is not nil. A Voice
	// that appends nothing leaves such requests open.
	Gone(dst []byte, id wire.ID, abort *StrictAbort) []byte
}

// Refusal is what can be said of a request that did not reach the server.
type Refusal struct {
	ID   wire.ID // absent if none was readable
	Tool string  // of a call that was read
	Code Code
	// Rule names what decided, Reason says why, both empty if there is no more
	// to say than the Code does. Reason may quote the Call.
	Rule, Reason string
}

// Code is the cause of a refusal in a word.
type Code string

// The codes of a refusal.
const (
	PolicyDenied     Code = "POLICY_DENIED"
	RateLimited      Code = "RATE_LIMITED"
	PendingApproval  Code = "PENDING_APPROVAL"
	CapabilityDenied Code = "CAPABILITY_DENIED"
	HostDenied       Code = "HOST_DENIED"
	AuditError       Code = "AUDIT_ERROR"
)

// codeOf is the code for a verdict that refuses.
func codeOf(p aar.Policy) Code {
	switch p.Status {
	case aar.RateLimited:
		return RateLimited
	case aar.PendingApproval:
		return PendingApproval
	}
	return PolicyDenied
}

// WrapVoice is the Voice of `aegis wrap` (docs/wrap.md): one error, and
// silence for what the server leaves open.
type WrapVoice struct{}

// Name implements [Voice].
func (WrapVoice) Name() string { return "wrap" }

// Refused implements [Voice]. The id is echoed as the bytes that were sent,
// null if there was none. Rule is shown where the argument policy or the lock decided.
func (WrapVoice) Refused(dst []byte, r Refusal) []byte {
	dst = append(dst, `{"error":{"code":-32042,"data":{"aegis":{"code":"`...)
	dst = append(dst, r.Code...)
	dst = append(dst, `","layer":"wrap"`...)
	if r.Code == CapabilityDenied && r.Rule != "" {
		dst = append(dst, `,"rule":"`...)
		dst = append(dst, r.Rule...)
		dst = append(dst, '"')
	}
	dst = append(dst, `}},"message":"aegis wrap refused this tools/call"},"id":`...)
	return append(r.ID.AppendAnswer(dst), `,"jsonrpc":"2.0"}`...)
}

// Gone implements [Voice].
func (WrapVoice) Gone(dst []byte, _ wire.ID, _ *StrictAbort) []byte { return dst }
