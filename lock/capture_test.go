package lock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	toolA = `{"name":"a","description":"A\u00e9","inputSchema":{"type":"object", "x":1.0}}`
	toolB = `{"inputSchema":{},"name":"b"}`
)

func full() *fake {
	return &fake{
		Capabilities: `{"tools":{},"resources":{},"prompts":{}}`, Instructions: `"Be \u0041 good."`,
		Tools: []string{toolA, toolB}, Resources: []string{`{"uri":"x:1","name":"one"}`}, Prompts: []string{`{"name":"p"}`, "", `{"name":"q"}`},
	}
}

func hold(t *testing.T, s *Surface, version string) {
	t.Helper()
	if s.ProtocolVersion != version {
		t.Errorf("version %s", s.ProtocolVersion)
	}
	if len(s.Tools) != 2 || string(s.Tools[0]) != toolA || string(s.Tools[1]) != toolB {
		t.Errorf("tools %s", s.Tools)
	}
	if len(s.Resources) != 1 || len(s.Prompts) != 2 {
		t.Errorf("resources %s prompts %s", s.Resources, s.Prompts)
	}
	if want := `"Be A good."`; string(s.Instructions) != want {
		t.Errorf("instructions %s", s.Instructions)
	}
}

func TestCaptureStdio(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"", "noise", "asks"} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stateless=%v", fault, stateless), func(t *testing.T) {
				t.Parallel()
				f := full()
				f.Fault, f.Stateless = fault, stateless
				s, err := captured(t, f, CaptureOptions{})
				if err != nil {
					t.Fatal(err)
				}
				hold(t, s, map[bool]string{false: "2025-11-25", true: "2026-07-28"}[stateless])
				if s.Command != f.argv(t)[0] || !slices.Equal(s.Args, f.argv(t)[1:]) {
					t.Errorf("command %s %s", s.Command, s.Args)
				}
			})
		}
	}
}

func TestCaptureAsksOnlyForWhatIsThere(t *testing.T) {
	t.Parallel()
	f := &fake{Tools: []string{toolA}} // resources and prompts would be answered with -32601
	s, err := captured(t, f, CaptureOptions{})
	if err != nil || len(s.Tools) != 1 || s.Resources != nil {
		t.Errorf("%v %v", s, err)
	}
	// A server that says it has prompts and does not know how to list them has none.
	f.Capabilities = `{"prompts":{},"resources":{}}`
	if _, err := captured(t, f, CaptureOptions{}); err != nil {
		t.Error(err)
	}
}

func TestEmptyCursorIsNone(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`{"tools":[{}],"nextCursor":""}`: "", `{"tools":[{}],"nextCursor":null}`: "", `{"tools":[{}]}`: "", `{"nextCursor":"\u0061","tools":[{}]}`: `"a"`,
	} {
		entries, next, err := pageOf([]byte(result), "tools")
		if err != nil || len(entries) != 1 || string(next) != want {
			t.Errorf("%s: %s %s %v", result, entries, next, err)
		}
	}
	for _, result := range []string{`{}`, `[]`, `{"tools":{}}`, `{"tools":[],"nextCursor":1}`, `{"tools":[],"nextcursor":"a"}`, `{"tools":[],"Tools":[]}`} {
		if _, _, err := pageOf([]byte(result), "tools"); err == nil {
			t.Errorf("%s is a page", result)
		}
	}
}

// Whatever a server does, a capture ends, in bounded memory, and says why.
func TestCaptureIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fake  fake
		o     CaptureOptions
		want  string
		bound bool
	}{
		"endless cursor":  {fake: fake{Endless: true}, want: "tools/list goes on after 1000 pages", bound: true},
		"repeated cursor": {fake: fake{SameCursor: true}, want: "comes back to a cursor", bound: true},
		"items":           {fake: fake{Tools: []string{toolA + "," + toolB}}, o: CaptureOptions{MaxItems: 1}, want: "more than 1 entries", bound: true},
		"100 MB":          {fake: fake{Huge: 100_000_000}, want: "more than 67108864 bytes", bound: true},
		"noisy":           {fake: fake{Fault: "noisy"}, want: "that are no messages", bound: true},
		"silent":          {fake: fake{Fault: "silent"}, o: CaptureOptions{Timeout: 100 * time.Millisecond}, want: "not done after 100ms"},
		"deaf":            {fake: fake{Fault: "deaf"}, o: CaptureOptions{Timeout: 100 * time.Millisecond}, want: "not done after 100ms"},
		"dies":            {fake: fake{Fault: "dies"}, want: "exit 7"},
		"ambiguous":       {fake: fake{Fault: "ambiguous"}, want: "in more ways than one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := captured(t, &c.fake, c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
			if _, ok := errors.AsType[*BoundError](err); ok != c.bound {
				t.Errorf("%T", err)
			}
			if c.fake.Fault == "dies" {
				e, _ := errors.AsType[*CaptureError](err)
				if want := []string{`cannot open \u001b[31mdatabase`}; e == nil || !slices.Equal(e.Stderr, want) {
					t.Errorf("stderr %q", e.Stderr)
				}
			}
		})
	}
}

func TestCaptureOfNothing(t *testing.T) {
	t.Parallel()
	if _, err := CaptureStdio(context.Background(), []string{"/nonexistent/server"}, CaptureOptions{}); err == nil {
		t.Error("started")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := CaptureStdio(ctx, (&fake{}).argv(t), CaptureOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// site serves a fake over Streamable HTTP.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	fake     *fake
	sse      bool
	requests []*http.Request
	respond  func(w http.ResponseWriter, r *http.Request) bool // instead of the fake
}

func serve(t *testing.T, f *fake) *site {
	s := &site{fake: f}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r)
		if s.respond != nil && s.respond(w, r) {
			return
		}
		body, _ := io.ReadAll(r.Body)
		frames := s.fake.answer(body)
		w.Header().Set("Mcp-Session-Id", "s-1")
		if len(frames) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if !s.sse {
			// Formatted as a person would.
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			io.WriteString(w, "\r\n  "+frames[len(frames)-1]+"\n\n")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": hello\r\nid: 1\r\ndata:\r\n\r\n")
		for _, frame := range frames {
			io.WriteString(w, "event: message\ndata: "+frame+"\n\n")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) capture(o CaptureOptions) (*Surface, error) {
	if o.Timeout == 0 {
		o.Timeout = limit
	}
	return CaptureHTTP(context.Background(), s.URL+"/mcp?key=canary-in-query", o)
}

func TestCaptureHTTP(t *testing.T) {
	t.Parallel()
	for _, sse := range []bool{false, true} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprintf("sse=%v/stateless=%v", sse, stateless), func(t *testing.T) {
				t.Parallel()
				f := full()
				f.Stateless = stateless
				if sse {
					f.Fault = "asks"
				}
				site := serve(t, f)
				site.sse = sse
				s, err := site.capture(CaptureOptions{Header: http.Header{"Authorization": {"Bearer x"}}})
				if err != nil {
					t.Fatal(err)
				}
				hold(t, s, map[bool]string{false: "2025-11-25", true: "2026-07-28"}[stateless])
				for i, r := range site.requests {
					if r.Header.Get("Authorization") != "Bearer x" {
						t.Error("no header")
					}
					if i > 0 && r.Header.Get("Mcp-Session-Id") != "s-1" {
						t.Errorf("request %d without its session", i)
					}
					if i > 2 && r.Header.Get("Mcp-Protocol-Version") != s.ProtocolVersion {
						t.Errorf("request %d is of version %q", i, r.Header.Get("Mcp-Protocol-Version"))
					}
				}
				if last := site.requests[len(site.requests)-1]; last.Method != http.MethodDelete {
					t.Error("the session was not given back")
				}
			})
		}
	}
}

func TestCaptureHTTPIsBounded(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error("another host was asked") }))
	t.Cleanup(other.Close)
	header := http.Header{"Authorization": {"Bearer canary-in-header"}}
	for name, c := range map[string]struct {
		fake    fake
		o       CaptureOptions
		respond func(w http.ResponseWriter, r *http.Request) bool
		want    string
	}{
		"endless cursor": {fake: fake{Endless: true}, o: CaptureOptions{MaxPages: 10}, want: "goes on after 10 pages"},
		"bytes":          {fake: fake{Huge: 10_000}, o: CaptureOptions{MaxBytes: 5_000}, want: "more than 5000 bytes"},
		"ambiguous":      {fake: fake{Fault: "ambiguous"}, want: "in more ways than one"},
		"unauthorised": {respond: func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(401); return true },
			want: "HTTP status 401; it wants authorisation"},
		"no endpoint": {respond: func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(404); return true }, want: "no Streamable HTTP"},
		"redirected": {respond: func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return true
		}, want: "redirected to another host"},
		"html": {respond: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>")
			return true
		}, want: "text/html"},
		"stream ends": {respond: func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
			return true
		}, want: "ended before the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := serve(t, &c.fake)
			site.respond = c.respond
			c.o.Header = header
			_, err := site.capture(c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatal(err)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("a secret is in the error: %v", err)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://u:p@127.0.0.1/":  "user or password",
		"ftp://127.0.0.1/":       "no http or https URL",
		"mcp":                    "no http or https URL",
		"http://127.0.0.1/#x":    "fragment",
		"http://example.com/mcp": "in the clear",
		"https://exa mple.com/":  "no URL",
	} {
		_, err := CaptureHTTP(context.Background(), address, CaptureOptions{Header: http.Header{"X": {"y"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
