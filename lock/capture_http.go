package lock

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/wire"
)

// CaptureHTTP lists what the server at address declares over Streamable HTTP.
// An address holds no user and password: what authorises goes into a header. A
// redirect to another host is not followed.
func CaptureHTTP(ctx context.Context, address string, o CaptureOptions) (*Surface, error) {
	o = o.withDefaults()
	u, err := endpoint(address, len(o.Header) > 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("not done after %v", o.Timeout))
	defer cancel()
	h := newHTTP(u, &o)
	s := &Surface{URL: address}
	err = (&client{transport: h, o: o}).capture(ctx, s)
	h.end()
	sent := valuesOf(o.Header)
	if err == nil && sent.in(s) {
		err = errRepeated
	}
	if err != nil {
		return nil, &maskedError{fmt.Errorf("%s: %w", h.name, err), sent}
	}
	return s, nil
}

func endpoint(address string, authorised bool) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("the address is no URL") // its text is in the cause
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the address is no http or https URL with a host")
	case u.User != nil:
		return nil, errors.New("the address holds a user or password; put what authorises into a header")
	case u.Fragment != "":
		return nil, errors.New("the address holds a fragment")
	case authorised && u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, errors.New("headers would be sent to another machine in the clear; use https")
	}
	return u, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() || strings.EqualFold(host, "localhost")
}

// overHTTP is the Streamable HTTP transport (specification 2025-11-25, Transports).
type overHTTP struct {
	client  *http.Client
	to      *url.URL
	name    string // of the server in errors: without the query
	o       *CaptureOptions
	version string
	session string
	left    int64
}

func newHTTP(u *url.URL, o *CaptureOptions) *overHTTP {
	h := &overHTTP{to: u, name: redactURL(u.Scheme + "://" + u.Host + u.EscapedPath()), o: o, left: o.MaxBytes}
	rt := o.HTTP
	if rt == nil {
		// No connection is kept when the capture is over, and no proxy sees the
		// headers of a server on this machine.
		rt = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConnsPerHost:   1,
			ForceAttemptHTTP2:     true,
			ResponseHeaderTimeout: o.Timeout,
		}
	}
	h.client = &http.Client{Transport: rt, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if req.URL.Scheme != u.Scheme || req.URL.Host != u.Host {
			return errors.New("redirected to another host")
		}
		if len(via) > 5 {
			return errors.New("redirected more than five times")
		}
		return nil
	}}
	return h
}

func (h *overHTTP) agreed(version string) { h.version = version }

func (h *overHTTP) do(ctx context.Context, verb, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, verb, h.to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request could not be made")
	}
	for name, values := range h.o.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if verb == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Method", method)
	}
	if h.version != "" {
		req.Header.Set("Mcp-Protocol-Version", h.version)
	}
	if h.session != "" {
		req.Header.Set("Mcp-Session-Id", h.session)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if urlErr, ok := errors.AsType[*url.Error](err); ok {
			err = urlErr.Err // the URL may hold what is not to be shown
		}
		return nil, err
	}
	return resp, nil
}

func (h *overHTTP) notify(ctx context.Context, method string, frame []byte) error {
	resp, err := h.do(ctx, http.MethodPost, method, frame)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %w", method, statusError(resp.StatusCode))
	}
	return nil
}

func (h *overHTTP) call(ctx context.Context, id int64, method string, frame []byte) (wire.Element, error) {
	e, err := h.exchange(ctx, id, method, frame)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		err = fmt.Errorf("%s: %w", method, err)
	}
	return e, err
}

func (h *overHTTP) exchange(ctx context.Context, id int64, method string, frame []byte) (none wire.Element, err error) {
	resp, err := h.do(ctx, http.MethodPost, method, frame)
	if err != nil {
		return none, err
	}
	defer resp.Body.Close()
	if s := resp.Header.Get("Mcp-Session-Id"); s != "" && h.session == "" {
		h.session = s
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	in := &io.LimitedReader{R: resp.Body, N: h.left + 1}
	defer func() {
		if h.left = in.N - 1; h.left < 0 {
			err = boundf("the server sent more than %d bytes", h.o.MaxBytes)
		}
	}()
	switch {
	case kind == "text/event-stream" && resp.StatusCode == http.StatusOK:
		return h.events(ctx, id, in)
	case kind == "application/json":
		body, err := io.ReadAll(in)
		if err != nil {
			return none, err
		}
		e, ok, err := h.take(ctx, id, body)
		switch {
		case resp.StatusCode != http.StatusOK && (err != nil || !ok):
			// An error in place of an answer may name no id.
			if m := wire.Classify(compact(body)); len(m.Elements) == 1 && m.Elements[0].HasError {
				return m.Elements[0], nil
			}
			return none, statusError(resp.StatusCode)
		case err != nil:
			return none, err
		case !ok:
			return none, errors.New("the body is no answer to the request")
		}
		return e, nil
	case resp.StatusCode != http.StatusOK:
		return none, statusError(resp.StatusCode)
	}
	return none, fmt.Errorf("the answer is neither JSON nor an event stream but %s", shownText(kind))
}

func statusError(status int) error {
	hint := ""
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "; it wants authorisation, which --header gives"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		hint = "; no Streamable HTTP is spoken at this address"
	}
	return fmt.Errorf("the server answered with HTTP status %d%s", status, hint)
}

// compact is a JSON text without the line breaks that HTTP allows and a line of
// stdio does not. What is no JSON stays as it is.
func compact(body []byte) []byte {
	body = bytes.TrimSpace(body)
	if !bytes.ContainsAny(body, "\r\n") {
		return body
	}
	v := jsontext.Value(bytes.Clone(body))
	if v.Compact() != nil {
		return body
	}
	return v
}

func (h *overHTTP) take(ctx context.Context, id int64, body []byte) (answer wire.Element, ok bool, err error) {
	m := wire.Classify(compact(body))
	if m.Class != wire.Exact {
		if m.Class == wire.NotJSON {
			return answer, false, errors.New("the answer is no JSON")
		}
		return answer, false, ambiguous(&m)
	}
	if answer, ok, err = answerTo(&m, id); ok || err != nil {
		return answer, ok, err
	}
	for _, e := range m.Elements {
		if e.Kind == wire.Request {
			if err := h.notify(ctx, e.Method, replyTo(e)); err != nil {
				return answer, false, err
			}
		}
	}
	return answer, false, nil
}

// events reads an event stream (HTML Living Standard, 9.2) until it holds the
// answer.
func (h *overHTTP) events(ctx context.Context, id int64, in io.Reader) (wire.Element, error) {
	lines := &lineReader{r: bufio.NewReader(in)}
	if bom, _ := lines.r.Peek(3); string(bom) == "\ufeff" {
		_, _ = lines.r.Discard(3)
	}
	var data []byte
	begun, kind := false, ""
	for {
		line, err := lines.next()
		if len(line) == 0 && err == nil {
			// An event without data only gives the stream a place to go on from, and
			// one of another type is no message to any client: what it holds must
			// not be pinned in place of what a client reads.
			if len(data) > 0 && (kind == "" || kind == "message") {
				if e, ok, err := h.take(ctx, id, data); ok || err != nil {
					return e, err
				}
			}
			data, begun, kind = nil, false, ""
			continue
		}
		if value, ok := field(line, "event"); ok {
			kind = string(value)
		}
		if value, ok := field(line, "data"); ok {
			if begun {
				data = append(data, '\n')
			}
			data, begun = append(data, value...), true
		}
		if err == io.EOF {
			return wire.Element{}, errors.New("the event stream ended before the answer")
		}
		if err != nil {
			return wire.Element{}, err
		}
	}
}

// lineReader reads lines that end with LF, CR or CRLF.
type lineReader struct {
	r     *bufio.Reader
	after bool // a CR: an LF that comes next is of the same end
}

// next is the next line without its end. What no end follows comes with an error.
func (l *lineReader) next() (line []byte, err error) {
	for {
		c, err := l.r.ReadByte()
		if err != nil {
			return line, err
		}
		cr := l.after
		l.after = c == '\r'
		switch {
		case c == '\n' && cr:
		case c == '\n' || c == '\r':
			return line, nil
		default:
			line = append(line, c)
		}
	}
}

func field(line []byte, name string) ([]byte, bool) {
	key, value, _ := bytes.Cut(line, []byte(":"))
	if string(key) != name {
		return nil, false
	}
	return bytes.TrimPrefix(value, []byte(" ")), true
}

// end gives the session back, if there was one, and closes the connections.
func (h *overHTTP) end() {
	if h.session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if resp, err := h.do(ctx, http.MethodDelete, "", nil); err == nil {
			resp.Body.Close()
		}
	}
	h.client.CloseIdleConnections()
}
