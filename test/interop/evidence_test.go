package interop

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// frame is one line of a tap's log, as far as tests look at it.
type frame struct {
	raw    []byte // without its LF
	ID     json.RawMessage
	Method string
	Params struct {
		Name           string
		Meta           map[string]json.RawMessage `json:"_meta"`
		InputResponses json.RawMessage
		RequestState   string
	}
	Result, Error json.RawMessage
}

func (f frame) digest() string {
	d := sha256.Sum256(f.raw)
	return hex.EncodeToString(d[:])
}

func frames(t *testing.T, stream []byte) []frame {
	t.Helper()
	var out []frame
	for line := range bytes.Lines(stream) {
		f := frame{raw: bytes.TrimSuffix(line, []byte("\n"))}
		if err := json.Unmarshal(f.raw, &f); err != nil {
			t.Fatalf("a frame that is not JSON: %v\n%q", err, f.raw)
		}
		out = append(out, f)
	}
	return out
}

// ofMethod are the requests and notifications of one method.
func ofMethod(all []frame, method string) []frame {
	var out []frame
	for _, f := range all {
		if f.Method == method {
			out = append(out, f)
		}
	}
	return out
}

// answerTo is the answer to the request with this id.
func answerTo(all []frame, id json.RawMessage) (frame, bool) {
	i := slices.IndexFunc(all, func(f frame) bool { return f.Method == "" && bytes.Equal(f.ID, id) })
	if i < 0 {
		return frame{}, false
	}
	return all[i], true
}

// passedUnchanged fails the test unless what wrap read is what it wrote, byte
// for byte, each way.
func (p taps) passedUnchanged(t *testing.T) {
	t.Helper()
	for _, way := range []struct {
		name          string
		read, written []byte
	}{
		{"to the server", p.client.up(t), p.server.up(t)},
		{"to the client", p.server.down(t), p.client.down(t)},
	} {
		if len(way.read) == 0 {
			t.Errorf("%s: nothing passed", way.name)
		}
		if !bytes.Equal(way.read, way.written) {
			t.Errorf("%s: wrap read %d bytes and wrote %d others\nread:    %q\nwritten: %q",
				way.name, len(way.read), len(way.written), way.read, way.written)
		}
	}
}

// recordsWhatPassed fails the test unless the record has, in order, an intent
// and an outcome for each tools/call that passed the taps, with the digests of
// the request and of its answer. It returns the calls.
func (s *session) recordsWhatPassed(t *testing.T) []harness.Call {
	t.Helper()
	s.MustVerify(t)
	requests := ofMethod(frames(t, s.taps.server.up(t)), "tools/call")
	answers := frames(t, s.taps.server.down(t))
	recorded := harness.Calls(t, s.Lines(t))
	if len(recorded) != len(requests) {
		t.Fatalf("%d calls are on record, %d passed", len(recorded), len(requests))
	}
	for i, call := range recorded {
		request, outcome := requests[i], call.Outcome
		if call.Intent.ToolID != request.Params.Name || call.Intent.RequestDigest != request.digest() {
			t.Errorf("intent %d is %s %s, the call was %s", i, call.Intent.ToolID, call.Intent.RequestDigest, request.raw)
		}
		answer, answered := answerTo(answers, request.ID)
		switch {
		case answered && (outcome.Execution.Status != "success" || outcome.ResponseDigest != answer.digest()):
			t.Errorf("outcome %d is %+v, the answer was %s", i, outcome, answer.raw)
		case !answered && (outcome.Execution.Status != "host_denied" || outcome.Execution.Reason != "cancelled by the client; no answer" || outcome.ResponseDigest != ""):
			t.Errorf("outcome %d is %+v, the call was cancelled and not answered", i, outcome)
		}
	}
	return recorded
}

// endedInOrder fails the test unless the record ends with the server's own exit.
func (s *session) endedInOrder(t *testing.T) {
	t.Helper()
	lines := s.Lines(t)
	last := lines[len(lines)-1]
	if last.Type != "close" || last.Child == nil || last.Child.ExitCode == nil || *last.Child.ExitCode != 0 {
		t.Errorf("the record ends with %+v, want a close line with exit code 0", last)
	}
}
