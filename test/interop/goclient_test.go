//lint:file-ignore SA1019 what the newest protocol deprecates, older servers still ask for

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// sessionTimeout bounds a session that does not come to its end.
const sessionTimeout = 60 * time.Second

// goSession is a session of the official Go client.
type goSession struct {
	*mcp.ClientSession
	inbox  *inbox
	stderr *bytes.Buffer
	cmd    *exec.Cmd
}

// connectGo starts a command and connects to the server behind it.
func connectGo(t *testing.T, ctx context.Context, work string, argv, env []string, protocol string) *goSession {
	t.Helper()
	s := &goSession{inbox: newInbox(), stderr: &bytes.Buffer{}}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none", StopReason: "endTurn", Content: &mcp.TextContent{Text: "a sampled answer"}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "check": true}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {}, // asks for the notifications
	})
	client.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(work), Name: "the working directory"})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			s.inbox.arrived(method, toJSON(req.GetParams()))
			return next(ctx, method, req)
		}
	})
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stderr = s.stderr
	var err error
	s.ClientSession, err = client.Connect(ctx, &mcp.CommandTransport{Command: s.cmd}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, s.stderr)
	}
	if err := s.subscribed(ctx, `"toolsListChanged":true`); err != nil {
		t.Fatal(err)
	}
	return s
}

// subscribed waits, in a stateless session, until the server has acknowledged a
// subscription: the client does not.
func (s *goSession) subscribed(ctx context.Context, to string) error {
	if s.InitializeResult().ProtocolVersion < stateless {
		return nil
	}
	_, err := s.inbox.await(ctx, 1, "notifications/subscriptions/acknowledged", to)
	return err
}

// end closes the session and fails the test unless the command exited with 0.
func (s *goSession) end(t *testing.T) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v\n%s", err, s.stderr)
	}
	harness.NoRace(t, s.stderr.String())
}

// playGo plays a scenario with the Go client, which asks for a protocol version
// first.
func playGo(t *testing.T, scenario, work, protocol string, argv, env []string) transcript {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), sessionTimeout)
	defer cancel()
	s := connectGo(t, ctx, work, argv, env, protocol)
	given := []any{map[string]any{"initialize": s.InitializeResult()}}
	for i, step := range loadScenario(t, scenario, work) {
		g, err := s.play(ctx, step, fmt.Sprint(i))
		if err != nil {
			t.Errorf("step %d (%s): %v", i, step.Do, err)
			break
		}
		given = append(given, g)
	}
	s.end(t)
	return newTranscript(t, toJSON(given))
}

// given is what one step gave.
type given struct {
	Result   any               `json:"result,omitempty"`
	Error    any               `json:"error,omitempty"`
	Progress []json.RawMessage `json:"progress,omitempty"`
	Results  []given           `json:"results,omitempty"`
}

// play plays one step. An error is one of the client or of the test; what the
// server answered is in what it gave.
func (s *goSession) play(ctx context.Context, st step, name string) (given, error) {
	switch st.Do {
	case "together":
		results := make([]given, len(st.Steps))
		errs := make([]error, len(st.Steps))
		var all sync.WaitGroup
		for i, one := range st.Steps {
			all.Go(func() { results[i], errs[i] = s.play(ctx, one, fmt.Sprint(name, ".", i)) })
		}
		all.Wait()
		return given{Results: results}, errors.Join(errs...)
	case "await":
		found, err := s.inbox.await(ctx, 1, st.What, st.Containing)
		if err != nil {
			return given{}, err
		}
		return given{Result: found[0]}, nil
	}

	token := "progress-" + name
	told := func(n int) ([]json.RawMessage, error) {
		return s.inbox.await(ctx, n, "notifications/progress", `"`+token+`"`)
	}
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	if st.CancelAfter > 0 {
		go func() {
			told(st.CancelAfter)
			cancel()
		}()
	}
	if st.CancelAfter == 0 && st.Progress == 0 {
		token = ""
	}
	result, err := s.request(callCtx, st, token)
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return given{Error: wire}, nil
	}
	if st.CancelAfter > 0 && errors.Is(err, context.Canceled) {
		return given{Error: map[string]string{"message": "cancelled"}}, nil
	}
	if err != nil {
		return given{}, err
	}
	g := given{Result: result}
	if st.Progress > 0 {
		g.Progress, err = told(st.Progress)
	}
	return g, err
}

func (s *goSession) request(ctx context.Context, st step, token string) (any, error) {
	switch st.Do {
	case "tools/list":
		return s.ListTools(ctx, nil)
	case "tools/call":
		return ask(ctx, st, s.CallTool, func(p *mcp.CallToolParams) {
			if token != "" {
				p.SetProgressToken(token)
			}
		})
	case "resources/list":
		return s.ListResources(ctx, nil)
	case "resources/templates/list":
		return s.ListResourceTemplates(ctx, nil)
	case "resources/read":
		return ask(ctx, st, s.ReadResource, nil)
	case "resources/subscribe":
		return ask(ctx, st, func(ctx context.Context, p *mcp.SubscribeParams) (struct{}, error) {
			if err := s.Subscribe(ctx, p); err != nil {
				return struct{}{}, err
			}
			return struct{}{}, s.subscribed(ctx, p.URI)
		}, nil)
	case "resources/unsubscribe":
		return ask(ctx, st, func(ctx context.Context, p *mcp.UnsubscribeParams) (struct{}, error) {
			return struct{}{}, s.Unsubscribe(ctx, p)
		}, nil)
	case "prompts/list":
		return s.ListPrompts(ctx, nil)
	case "prompts/get":
		return ask(ctx, st, s.GetPrompt, nil)
	case "completion/complete":
		return ask(ctx, st, s.Complete, nil)
	case "ping":
		return struct{}{}, s.Ping(ctx, nil)
	}
	return nil, fmt.Errorf("no such step: %s", st.Do)
}

// ask sends a request with the parameters of a step.
func ask[P, R any](ctx context.Context, st step, send func(context.Context, *P) (R, error), adjust func(*P)) (R, error) {
	var params P
	if err := json.Unmarshal(st.Params, &params); err != nil {
		var none R
		return none, err
	}
	if adjust != nil {
		adjust(&params)
	}
	return send(ctx, &params)
}

// inbox holds what the server sent of its own accord.
type inbox struct {
	mu      sync.Mutex
	sent    []message
	changed chan struct{} // closed at the next arrival
}

type message struct {
	method string
	params json.RawMessage
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{})} }

func (b *inbox) arrived(method string, params json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, message{method, params})
	close(b.changed)
	b.changed = make(chan struct{})
}

// await waits for n messages of a method that contain a text.
func (b *inbox) await(ctx context.Context, n int, method, containing string) ([]json.RawMessage, error) {
	for {
		var found []json.RawMessage
		b.mu.Lock()
		for _, m := range b.sent {
			if m.method == method && strings.Contains(string(m.params), containing) {
				found = append(found, m.params)
			}
		}
		changed := b.changed
		b.mu.Unlock()
		if len(found) >= n {
			return found[:n], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s %s: %w", method, containing, ctx.Err())
		}
	}
}
