package interop

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

const (
	stateful  = "2025-11-25" // the last version that opens with initialize
	stateless = "2026-07-28" // no handshake: every request carries its context
)

// sessionOf plays the models scenario with the Go client and the server made
// with the Go SDK, directly and tapped, and checks what holds in both models.
// It returns the tapped session with what went to the server and what came.
func sessionOf(t *testing.T, protocol string) (s *session, up, down []frame) {
	t.Helper()
	work := filepath.Join(t.TempDir(), "work")
	steps := loadScenario(t, "models", work)
	server := []string{harness.Binary(t, harness.ModelServer)}

	s = newSession(t, work)
	without := playGo(t, "models", work, protocol, direct.build(t, s, server), nil)
	without.meets(t, steps)
	through := playGo(t, "models", work, protocol, tapped.build(t, s, server), nil)
	through.equals(t, "tapped", without)
	s.taps.passedUnchanged(t)
	s.endedInOrder(t)
	return s, frames(t, s.taps.client.up(t)), frames(t, s.taps.client.down(t))
}

func tools(calls []harness.Call) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.Intent.ToolID)
	}
	return out
}

// With a handshake, a server that needs more input asks for it: one call.
func TestSessionThatOpensWithInitialize(t *testing.T) {
	t.Parallel()
	s, up, down := sessionOf(t, stateful)

	if first := up[0].Method; first != "initialize" {
		t.Errorf("the session opens with %s", first)
	}
	if n := len(ofMethod(down, "elicitation/create")); n != 1 {
		t.Errorf("the server asked %d times, want once", n)
	}
	want := []string{"greet", "fail", "no-such-tool", "grow", "touch"}
	if got := tools(s.recordsWhatPassed(t)); !slices.Equal(got, want) {
		t.Errorf("on record are %q, want %q", got, want)
	}
}

// Without one, it answers that input is required and is called again: two calls,
// each with its own request and its own answer.
func TestStatelessSession(t *testing.T) {
	t.Parallel()
	s, up, down := sessionOf(t, stateless)

	if len(ofMethod(up, "initialize")) > 0 || len(ofMethod(up, "server/discover")) != 1 {
		t.Errorf("the session is not stateless: %s ...", up[0].raw)
	}
	for _, f := range up {
		if f.ID == nil || f.Method == "" {
			continue
		}
		if v := string(f.Params.Meta["io.modelcontextprotocol/protocolVersion"]); v != `"`+stateless+`"` {
			t.Errorf("a request without its context: %s", f.raw)
		}
	}
	for _, f := range down {
		if f.Method != "" && f.ID != nil {
			t.Errorf("a request of the server in a stateless session: %s", f.raw)
		}
	}

	// What changed is told on the stream of the subscription that asked for it.
	listens := ofMethod(up, "subscriptions/listen")
	if len(listens) != 2 {
		t.Fatalf("%d subscriptions, want one to the list of tools and one to the note", len(listens))
	}
	for i, method := range []string{"notifications/tools/list_changed", "notifications/resources/updated"} {
		told := ofMethod(down, method)
		if len(told) != 1 {
			t.Fatalf("%d %s, want one", len(told), method)
		}
		if got := told[0].Params.Meta["io.modelcontextprotocol/subscriptionId"]; string(got) != string(listens[i].ID) {
			t.Errorf("%s is on stream %s, want %s", method, got, listens[i].ID)
		}
	}

	recorded := s.recordsWhatPassed(t)
	want := []string{"greet", "greet", "fail", "no-such-tool", "grow", "touch"}
	if got := tools(recorded); !slices.Equal(got, want) {
		t.Fatalf("on record are %q, want %q", got, want)
	}
	asked, again := recorded[0], recorded[1]
	if asked.Intent.CallID == again.Intent.CallID || asked.Intent.RequestDigest == again.Intent.RequestDigest {
		t.Errorf("the repeated call is not a call of its own:\n%+v\n%+v", asked, again)
	}
	greets := ofMethod(up, "tools/call")[:2]
	if greets[0].Params.InputResponses != nil || greets[1].Params.InputResponses == nil || greets[1].Params.RequestState == "" {
		t.Errorf("the second call does not repeat the first:\n%s\n%s", greets[0].raw, greets[1].raw)
	}
	if asked.Outcome.Execution.Status != "success" {
		t.Errorf("the call whose answer was that input is required ended as %+v", asked.Outcome.Execution)
	}
}

// A client of the stateless model finds a server of the older one behind wrap,
// and falls back.
func TestClientFallsBackToInitialize(t *testing.T) {
	needNPM(t)
	t.Parallel()
	work := filepath.Join(t.TempDir(), "work")
	server := realServers[slices.IndexFunc(realServers, func(s realServer) bool { return s.name == "memory" })]
	s := newSession(t, work)
	playGo(t, "memory", work, stateless, tapped.build(t, s, server.argv(t, work)), server.env(work)).
		meets(t, loadScenario(t, "memory", work))

	up := frames(t, s.taps.client.up(t))
	if up[0].Method != "server/discover" || up[1].Method != "initialize" {
		t.Errorf("the session opens with %s, %s", up[0].Method, up[1].Method)
	}
	s.taps.passedUnchanged(t)
	s.recordsWhatPassed(t)
}
