package guard

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/wire"
)

// The JSON-RPC error codes that guard authors (guard contract, sections 7.4 and
// GUARD_PROXY_V3). All carry data.warden true.
const (
	codeBlocked = -32001 // a request, a result or a list page was blocked
	codeGone    = -32002 // the server went without an answer
	codeAbort   = -32003 // --strict ended the session
)

// The stages of a block.
const (
	stageRequest  = "request"
	stageResponse = "response"
	stageList     = "list_changed"
	stageGone     = "lifecycle"
	stageAbort    = "strict_abort"
)

// Voice words what guard authors, in the frames of the guard contract.
type Voice struct{}

// Name implements [interpose.Voice].
func (Voice) Name() string { return "guard" }

// Refused implements [interpose.Voice]. The rule is the one that decided, or
// the relay's own code where no rule did.
func (Voice) Refused(dst []byte, r interpose.Refusal) []byte {
	rule := r.Rule
	if rule == "" {
		rule = string(r.Code)
	}
	message := "aegis guard: tools/call blocked by argument policy"
	switch r.Code {
	case interpose.HostDenied, interpose.AuditError:
		message = "aegis guard: request not forwarded"
	case interpose.CapabilityDenied:
		if strings.HasPrefix(r.Rule, driftRules) {
			message = "aegis guard: tools/call blocked by the lock"
		}
	}
	return appendError(dst, r.ID, codeBlocked, message, block{stageRequest, rule, r.Tool, r.Reason})
}

// Gone implements [interpose.Voice].
func (Voice) Gone(dst []byte, id wire.ID, abort *interpose.StrictAbort) []byte {
	if abort != nil {
		// What failed is told on stderr: an error's text may hold the frame's.
		return appendError(dst, id, codeAbort, "aegis guard: session ended by --strict", block{stage: stageAbort, rule: ruleFrameError, reason: "a frame could not be inspected"})
	}
	return appendError(dst, id, codeGone, "aegis guard: server exited before responding", block{stage: stageGone, reason: "the server ended with this request open"})
}

// block is the data of an error, less the member warden.
type block struct{ stage, rule, tool, reason string }

// appendError appends a JSON-RPC error. What others wrote is cut, cleaned of
// secrets and escaped for terminals: frames end up in logs.
func appendError(dst []byte, id wire.ID, code int, message string, b block) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = id.AppendAnswer(dst)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = appendMember(dst, "message", message)
	dst = append(dst, `,"data":{"warden":true`...)
	dst = appendMember(dst, "stage", b.stage)
	if b.rule != "" {
		dst = appendMember(dst, "rule", b.rule)
	}
	if b.tool != "" {
		dst = appendMember(dst, "tool", aar.BoundedName(b.tool))
	}
	if b.reason != "" {
		clean, _ := secret.RedactAll(b.reason)
		dst = appendMember(dst, "reason", cut(clean))
	}
	return append(dst, `}}}`...)
}

func appendMember(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":`...)
	quoted, _ := jsontext.AppendQuote(nil, value) // what is not UTF-8 becomes U+FFFD
	return append(dst, report.SafeJSON(quoted)...)
}

// maxReason bounds the text of a reason in bytes.
const maxReason = 1 << 10

func cut(s string) string {
	if len(s) <= maxReason {
		return s
	}
	end := maxReason
	for end > 0 && s[end]&0xc0 == 0x80 { // not inside a character
		end--
	}
	return s[:end] + "…"
}
