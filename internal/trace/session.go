package trace

import "github.com/aegis-aar/aegis/internal/wire"

// Session follows the frames of one session and says which answers are of a
// tools/call, so that a live session and its recording are inspected alike. It is
// fed what was classified, in the order in which it was seen; a frame over the
// cap, which nobody held, has no part in it. It is used by one goroutine.
type Session struct {
	client *pairing // what the client asked the server
	server *pairing // what the server asked the client; for bare frames only
}

// NewSession keeps at most inFlight open requests of the client.
func NewSession(inFlight int) *Session {
	return &Session{client: newPairing(inFlight), server: newPairing(DefaultInFlight)}
}

// Answer is a part of a server's frame that is to be inspected.
type Answer struct {
	// Tool is the tool that was called, empty if that is not known: then the
	// id is unknown, was answered before or evicted, or no id could be read.
	Tool string
	ID   wire.ID

	// Body is the answer: a response object, or all of a frame that is not
	// Exact, which may be no JSON at all.
	Body  []byte
	Exact bool
}

// Client notes the requests in a frame of the client. One that is not Exact
// opens a call if any reader could find one there: its tool is not known.
func (s *Session) Client(m wire.Message) {
	if m.Class != wire.Exact {
		if m.MayCall || m.Kind == wire.Request {
			s.client.sent(request{ID: m.ID, Call: m.MayCall})
		}
		return
	}
	for _, e := range m.Elements {
		switch e.Kind {
		case wire.Request:
			s.client.sent(request{ID: e.ID, Call: e.IsCall, Tool: e.Tool})
		case wire.Response:
			s.server.answered(e.ID)
		}
	}
}

// Server returns what there is to inspect in a frame of the server: every answer
// to a call, and every answer to nobody knows what. Answers to other requests,
// requests and notifications are not inspected. A frame that is not Exact is
// inspected as a whole, unless its one readable id is that of another request.
func (s *Session) Server(m wire.Message, body []byte) []Answer {
	if m.Class != wire.Exact {
		r, known := s.client.answered(m.ID)
		if known && !r.Call {
			return nil
		}
		return []Answer{{Tool: r.Tool, ID: m.ID, Body: body}}
	}
	var answers []Answer
	for _, e := range m.Elements {
		switch e.Kind {
		case wire.Request:
			s.server.sent(request{ID: e.ID})
		case wire.Response:
			if r, known := s.client.answered(e.ID); !known || r.Call {
				answers = append(answers, Answer{Tool: r.Tool, ID: e.ID, Body: e.Raw, Exact: true})
			}
		}
	}
	return answers
}

// Direction infers who sent a bare frame: the server sends its own methods, and
// answers, but for those to a request that only the server has open.
func (s *Session) Direction(m wire.Message) Direction {
	if m.Class != wire.Exact {
		if m.MayCall || m.Kind == wire.Request {
			return Client
		}
		return Server
	}
	for _, e := range m.Elements {
		switch e.Kind {
		case wire.Request, wire.Notification:
			if ofServer[e.Method] {
				return Server
			}
			return Client
		case wire.Response:
			if !s.client.has(e.ID) && s.server.has(e.ID) {
				return Client
			}
			return Server
		}
	}
	return Server
}

// ofServer are the methods of MCP that only a server sends, in any of its
// versions; ping, progress and cancellation go both ways.
var ofServer = map[string]bool{
	"sampling/createMessage":               true,
	"elicitation/create":                   true,
	"roots/list":                           true,
	"notifications/message":                true,
	"notifications/elicitation/complete":   true,
	"notifications/tools/list_changed":     true,
	"notifications/prompts/list_changed":   true,
	"notifications/resources/list_changed": true,
	"notifications/resources/updated":      true,
}
