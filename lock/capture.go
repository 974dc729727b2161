package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/secret"
	"github.com/aegis-aar/aegis/internal/wire"
)

// CaptureOptions bound a capture. A zero bound is its default.
type CaptureOptions struct {
	Timeout  time.Duration // of all of it; 60 s
	MaxPages int           // of one list; 1,000
	MaxItems int           // of all lists; 20,000
	MaxBytes int64         // of all answers; 64 MiB

	// ClientVersion is the version of this program as the server is told.
	ClientVersion string
	// ClientCapabilities are what the server is told this client can do: roots,
	// sampling, elicitation. Some servers list other tools to other clients.
	ClientCapabilities []string

	// Confiner contains a started server; nil lets it do what we may.
	Confiner Confiner

	// Stderr receives what a started server writes to its standard error as it
	// comes. Without it the last of it is part of an error.
	Stderr io.Writer

	// Header is sent with every HTTP request to the server. Its values are in
	// no error.
	Header http.Header
	// HTTP is the transport of the HTTP requests, for tests; nil is the default.
	HTTP http.RoundTripper

	// Progress is told after every page how many entries there are so far. It
	// may be nil.
	Progress func(items int)
}

// A Confiner contains a server that is started to be asked.
type Confiner interface {
	// Prepare gives a command its program. Its streams and attributes are set.
	Prepare(cmd *exec.Cmd) error
	// Await is called when that has been started, and returns when the server's
	// own program runs. An error says that it will not.
	Await() error
}

const (
	defaultTimeout = 60 * time.Second
	defaultPages   = 1_000
	defaultItems   = 20_000
	defaultBytes   = 64 << 20
)

func (o CaptureOptions) withDefaults() CaptureOptions {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxPages == 0 {
		o.MaxPages = defaultPages
	}
	if o.MaxItems == 0 {
		o.MaxItems = defaultItems
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultBytes
	}
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	return o
}

// Versions of the protocol that a capture speaks.
const (
	statefulVersion  = "2025-11-25" // the last one that opens with initialize
	statelessVersion = "2026-07-28" // every request says for itself what initialize said
)

// transport carries messages to one server. It is used by one goroutine.
type transport interface {
	// call sends a request and returns the message that answers it.
	call(ctx context.Context, id int64, method string, frame []byte) (wire.Element, error)
	// notify sends a notification.
	notify(ctx context.Context, method string, frame []byte) error
	// agreed tells the version of the protocol, once it is known.
	agreed(version string)
}

// client is one session with a server in order to list what it declares.
type client struct {
	transport
	o      CaptureOptions
	id     int64
	meta   []byte // of every request in the stateless model
	items  int
	result struct {
		version      string
		instructions jsontext.Value
		capabilities *node
	}
}

// RPCError is an error that a server answered with. Its message is safe to show.
type RPCError struct {
	Method  string
	Code    int64
	Message string
}

func (e *RPCError) Error() string {
	return fmt.Sprintf("the server answered %s with error %d: %s", e.Method, e.Code, e.Message)
}

const methodNotFound = -32601

// BoundError says which bound of a capture a server exceeded.
type BoundError struct{ Reason string }

func (e *BoundError) Error() string { return e.Reason }

func boundf(format string, a ...any) error { return &BoundError{fmt.Sprintf(format, a...)} }

// capture opens the session and lists everything.
func (c *client) capture(ctx context.Context, s *Surface) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	s.ProtocolVersion, s.Instructions = c.result.version, c.result.instructions
	var err error
	// Tools are asked for whatever the server says it has: a client may do so.
	if s.Tools, err = c.list(ctx, "tools/list", "tools"); err != nil {
		return err
	}
	if c.result.capabilities.get("resources") != nil {
		if s.Resources, err = c.list(ctx, "resources/list", "resources"); err != nil {
			return err
		}
	}
	if c.result.capabilities.get("prompts") != nil {
		if s.Prompts, err = c.list(ctx, "prompts/list", "prompts"); err != nil {
			return err
		}
	}
	return nil
}

// open begins as nearly all servers understand it, and else as the stateless
// ones do.
func (c *client) open(ctx context.Context) error {
	var params object
	params.text("protocolVersion", statefulVersion)
	params.raw("capabilities", c.capabilities())
	params.raw("clientInfo", c.info())
	result, err := c.request(ctx, "initialize", params.end())
	if _, answered := errors.AsType[*RPCError](err); answered {
		if discovered := c.discover(ctx); discovered != nil {
			return fmt.Errorf("%w; %w", err, discovered)
		}
		return nil
	}
	if err != nil {
		return err
	}
	n, err := parseNode(result)
	if err != nil {
		return fmt.Errorf("the answer to initialize: %w", err)
	}
	version := n.get("protocolVersion")
	if !version.isString() || !versionText(version.text) {
		return errors.New("the answer to initialize names no protocolVersion")
	}
	c.opened(version.text, n, result)
	return c.notify(ctx, "notifications/initialized", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

// versionText reports what may be the name of a version, which goes into the
// lock and into a header of every later request: not any text of the server.
func versionText(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '.' {
			return false
		}
	}
	return s != "" && len(s) <= 32
}

func (c *client) discover(ctx context.Context) error {
	var meta object
	meta.text("io.modelcontextprotocol/protocolVersion", statelessVersion)
	meta.raw("io.modelcontextprotocol/clientInfo", c.info())
	meta.raw("io.modelcontextprotocol/clientCapabilities", c.capabilities())
	c.meta = meta.end()
	c.agreed(statelessVersion)
	result, err := c.request(ctx, "server/discover", []byte("{}"))
	if err != nil {
		return err
	}
	n, err := parseNode(result)
	if err != nil {
		return fmt.Errorf("the answer to server/discover: %w", err)
	}
	for _, v := range n.get("supportedVersions").list() {
		if v.isString() && v.text == statelessVersion {
			c.opened(statelessVersion, n, result)
			return nil
		}
	}
	return fmt.Errorf("the server speaks no version of the protocol that is known here (%s, %s)", statefulVersion, statelessVersion)
}

func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

func (c *client) opened(version string, n *node, result []byte) {
	c.result.version, c.result.capabilities = version, n.get("capabilities")
	if text := n.get("instructions"); !text.isNull() {
		c.result.instructions = text.append(nil)
	}
	c.agreed(version)
}

func (c *client) info() []byte {
	var info object
	info.text("name", "aegis")
	info.text("version", c.o.ClientVersion)
	return info.end()
}

func (c *client) capabilities() []byte {
	var o object
	for _, name := range c.o.ClientCapabilities {
		o.raw(name, []byte("{}"))
	}
	return o.end()
}

// request sends a request and returns the JSON text of its result. params is an
// object.
func (c *client) request(ctx context.Context, method string, params []byte) (jsontext.Value, error) {
	c.id++
	var o object
	o.text("jsonrpc", "2.0")
	o.raw("id", strconv.AppendInt(nil, c.id, 10))
	o.text("method", method)
	if c.meta != nil {
		params = withMeta(params, c.meta)
	}
	o.raw("params", params)
	e, err := c.call(ctx, c.id, method, o.end())
	if err != nil {
		return nil, err
	}
	if e.HasError {
		return nil, rpcError(method, e.Raw, valuesOf(c.o.Header))
	}
	return memberOf(e.Raw, "result")
}

func withMeta(params, meta []byte) []byte {
	out := append([]byte(`{"_meta":`), meta...)
	if string(params) != "{}" {
		return append(append(out, ','), params[1:]...)
	}
	return append(out, '}')
}

// rpcError is the error in an answer. Values that were sent are masked before the
// message is cut: a part of one is not found.
func rpcError(method string, raw []byte, sent sentValues) error {
	e := &RPCError{Method: method, Message: "without a message"}
	if n, err := parseNode(raw); err == nil {
		if code := n.get("error").get("code"); code != nil && code.kind == '0' {
			e.Code, _ = strconv.ParseInt(string(code.raw), 10, 64)
		}
		if message := n.get("error").get("message"); message.isString() {
			e.Message = shownText(sent.mask(message.text))
		}
	}
	return e
}

// shownText is text of a server as an error may hold it.
func shownText(s string) string {
	s, _ = secret.RedactAll(s)
	return report.SafeText(report.Clip(s, 500))
}

// memberOf is the JSON text of a member of an object that was read strictly.
func memberOf(text []byte, name string) (jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errors.New("no object")
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if t.String() == name {
			v, err := d.ReadValue()
			return v.Clone(), err
		}
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// list follows nextCursor to the end.
func (c *client) list(ctx context.Context, method, member string) (entries []jsontext.Value, err error) {
	params := []byte("{}")
	cursors := map[string]bool{}
	for pages := 1; ; pages++ {
		if pages > c.o.MaxPages {
			return nil, boundf("%s goes on after %d pages", method, c.o.MaxPages)
		}
		result, err := c.request(ctx, method, params)
		if rpc, ok := errors.AsType[*RPCError](err); ok && rpc.Code == methodNotFound && pages == 1 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		items, next, err := pageOf(result, member)
		if err != nil {
			return nil, fmt.Errorf("the answer to %s: %w", method, err)
		}
		if c.items += len(items); c.items > c.o.MaxItems {
			return nil, boundf("the server declares more than %d entries", c.o.MaxItems)
		}
		entries = append(entries, items...)
		c.o.Progress(c.items)
		if next == nil {
			return entries, nil
		}
		if cursors[string(next)] {
			return nil, boundf("%s comes back to a cursor it gave before", method)
		}
		cursors[string(next)] = true
		var o object
		o.raw("cursor", next)
		params = o.end()
	}
}

// emptyCursor is, as clients take it, no cursor: there is no further page, or the
// first one is asked for.
const emptyCursor = `""`

// pageOf are the entries of one page, as they were sent, and its nextCursor in
// canonical form, nil on the last page.
func pageOf(result jsontext.Value, member string) (entries []jsontext.Value, next []byte, err error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(result))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, nil, errNoList
	}
	listed := false
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		switch name := t.String(); {
		case name == member:
			listed = true
			if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
				return nil, nil, fmt.Errorf("%s is no list", member)
			}
			for d.PeekKind() != ']' {
				v, err := d.ReadValue()
				if err != nil {
					return nil, nil, err
				}
				entries = append(entries, v.Clone())
			}
			if _, err := d.ReadToken(); err != nil {
				return nil, nil, err
			}
		case name == "nextCursor":
			v, err := d.ReadValue()
			if err != nil {
				return nil, nil, err
			}
			switch v.Kind() {
			case 'n':
			case '"':
				if next, err = Canonical(v); err != nil {
					return nil, nil, err
				}
				// Servers that cannot leave it out send an empty one at the end.
				if string(next) == emptyCursor {
					next = nil
				}
			default:
				return nil, nil, errCursor
			}
		case foldsTo(name, member, "nextCursor"):
			return nil, nil, errFolding
		default:
			if err := d.SkipValue(); err != nil {
				return nil, nil, err
			}
		}
	}
	if !listed {
		return nil, nil, fmt.Errorf("has no %s", member)
	}
	return entries, next, nil
}

var errTwice = errors.New("the server answered one request twice")

// answerTo is the one message of a frame that answers a request, if it is that.
// Of two, one reader takes the first and another the last.
func answerTo(m *wire.Message, id int64) (answer wire.Element, ok bool, err error) {
	want := wire.ID{Raw: strconv.AppendInt(nil, id, 10)}.Key()
	for _, e := range m.Elements {
		if e.Kind != wire.Response || e.ID.Key() != want {
			continue
		}
		if ok {
			return wire.Element{}, false, errTwice
		}
		answer, ok = e, true
	}
	return answer, ok, nil
}

// replyTo is what a server's request is answered with: what every client can
// say, and that it has no roots if it said that it knows of roots.
func replyTo(e wire.Element) []byte {
	var o object
	o.text("jsonrpc", "2.0")
	o.raw("id", e.ID.AppendAnswer(nil))
	switch e.Method {
	case "ping":
		o.raw("result", []byte("{}"))
	case "roots/list":
		o.raw("result", []byte(`{"roots":[]}`))
	default:
		o.raw("error", []byte(`{"code":-32601,"message":"aegis only lists what the server declares"}`))
	}
	return o.end()
}

func ambiguous(m *wire.Message) error {
	return fmt.Errorf("an answer of the server can be read in more ways than one: %s", m.Reason)
}
