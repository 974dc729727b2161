package interpose

import (
	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// Code is the `data.aegis.code` of a refusal. It names its cause with the word
// that the gateway uses for the same cause.
type Code string

// The codes of a refusal.
const (
	PolicyDenied    Code = "POLICY_DENIED"
	RateLimited     Code = "RATE_LIMITED"
	PendingApproval Code = "PENDING_APPROVAL"
	HostDeniedCode  Code = "HOST_DENIED"
	AuditError      Code = "AUDIT_ERROR"
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

// appendRefusal appends the one JSON-RPC message that wrap may author
// (ADR-0015): an error that answers a request which never reached the child.
// The id is echoed as the bytes that were sent, null if there was none.
func appendRefusal(dst []byte, code Code, id wire.ID) []byte {
	dst = append(dst, `{"error":{"code":-32042,"data":{"aegis":{"code":"`...)
	dst = append(dst, code...)
	dst = append(dst, `","layer":"wrap"}},"message":"aegis wrap refused this tools/call"},"id":`...)
	if id.Present() {
		dst = append(dst, id.Raw...)
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, `,"jsonrpc":"2.0"}`...)
}
