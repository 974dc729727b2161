package wire

// Class says whether a frame can be judged.
type Class uint8

// The zero Class is none of these, so that a forgotten Message is not Exact.
const (
	// Exact is one JSON value that every reader takes the same way.
	Exact Class = iota + 1
	// Ambiguous is a frame that two honest readers could take differently.
	Ambiguous
	// NotJSON is a frame that is no JSON text, and not Ambiguous either.
	NotJSON
	// OverCap is a frame longer than the cap of its Reader.
	OverCap
)

// String returns the name of the class.
func (c Class) String() string {
	switch c {
	case Exact:
		return "exact"
	case Ambiguous:
		return "ambiguous"
	case NotJSON:
		return "not JSON"
	case OverCap:
		return "over the cap"
	default:
		return "unclassified"
	}
}

// Kind is what a JSON-RPC message is by the members it has.
type Kind uint8

const (
	// Other is any value that is not a JSON-RPC message.
	Other Kind = iota
	// Request has a method and an id that is not null.
	Request
	// Notification has a method, and no id or a null one.
	Notification
	// Response has no method, and a result or an error.
	Response
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	default:
		return "other"
	}
}

// The methods of MCP that the classifier looks into.
const (
	MethodCall      = "tools/call"
	MethodList      = "tools/list"
	methodCancelled = "notifications/cancelled"
)

// Element is one message of an Exact frame: the frame's value, or one element
// of a batch. Its slices point into the classified body.
type Element struct {
	Kind   Kind
	Method string // unescaped; empty without a method
	ID     ID

	// IsCall is set when Method is tools/call, with an id or without.
	IsCall bool
	// Tool is the unescaped params.name of a call.
	Tool string
	// Arguments is the JSON text of a call's params.arguments, nil without it.
	Arguments []byte

	// CancelID is the params.requestId of notifications/cancelled, absent when
	// that is neither a string nor a number.
	CancelID ID

	// Cursor is the JSON text of the params.cursor of a tools/list, nil without it.
	Cursor []byte

	HasResult, HasError bool

	// Raw is the JSON text of the whole element, Offset where it begins in the
	// classified body.
	Raw    []byte
	Offset int
}

// Message is what a frame says.
type Message struct {
	Class Class

	// Reason says in a few words why the frame is not Exact. It is fixed text
	// and never holds bytes of the frame.
	Reason string

	// Batch is set when an Exact frame is an array.
	Batch bool
	// Elements has one entry, or one for each element of a batch in order,
	// which may be none. Exact frames only.
	Elements []Element

	// The rest is for frames that are not Exact, found by a loose reading (see
	// [Scanner]): good for telling a sender that its frame was refused and for
	// pairing an answer with its call, never for allowing anything.

	// MayCall is set when any reader could find a tools/call in the frame.
	MayCall bool
	// ID is the top-level id if exactly one was readable, else absent.
	ID ID
	// Kind is what the names of the top-level members suggest, Other if they
	// contradict each other.
	Kind Kind
}
