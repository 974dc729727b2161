package interpose

import (
	"crypto/sha256"
	"reflect"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
)

// digestOf is what the record says of a line: the hash of its bytes as they
// came, the LF left out.
func digestOf(line string) [32]byte { return sha256.Sum256([]byte(strings.TrimSuffix(line, "\n"))) }

// wantOutcome checks all of an outcome but its place in the chain.
func wantOutcome(t *testing.T, c recorded, tool string, request [32]byte, want aar.Outcome) {
	t.Helper()
	if c.Outcome == nil {
		t.Fatalf("%s has no outcome", c.Intent.CallID)
	}
	if c.Intent.ToolID != tool || c.Intent.RequestDigest != request {
		t.Errorf("the intent of %s is for %q with digest %s, want %q and %x", c.Intent.CallID, c.Intent.ToolID, c.Intent.RequestDigest, tool, request)
	}
	got := *c.Outcome
	got.Link, got.Seal = aar.Link{}, aar.Seal{}
	want.CallID, want.ToolID, want.RequestDigest = c.Intent.CallID, tool, request
	if (got.WallMS == nil) != (want.WallMS == nil) {
		t.Errorf("%s: wall_ms is %v", got.CallID, got.WallMS)
	}
	got.WallMS, want.WallMS = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is on record as\n%+v, want\n%+v", got.CallID, got, want)
	}
}

// forwarded is the outcome of a call that was let through: whatever came of it,
// it stands under the verdict it was forwarded with.
func forwarded(callID, tool string, e aar.Execution) aar.Outcome {
	grant := "wrap-passthrough-" + callID
	return aar.Outcome{
		PolicySetHash: aar.HashPolicySet([]byte("aegis-wrap-passthrough-v0")),
		Policy:        aar.Policy{Status: aar.Allowed},
		Capability:    aar.Capability{Status: aar.Granted, Grant: aar.Grant{GrantID: grant, ToolID: tool}},
		GrantID:       grant,
		Execution:     e,
	}
}

func answeredWith(callID, tool, answer string) aar.Outcome {
	o := forwarded(callID, tool, aar.Execution{Status: aar.Success})
	d := aar.ResponseDigest(digestOf(answer))
	o.ResponseDigest, o.WallMS = &d, new(uint64)
	return o
}

func unanswered(callID, tool, reason string) aar.Outcome {
	return forwarded(callID, tool, aar.Execution{Status: aar.HostDenied, Reason: reason})
}

// An answer is an answer: a result, a tool's own failure and a protocol error
// are recorded alike, by the digest of the line.
func TestAnAnsweredCallIsASuccess(t *testing.T) {
	for _, answer := range []string{
		result("1"),
		`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}`,
		`{"id":1,"result":null}`,
		` { "result" : {} , "id" : 1 } `,
		result("1") + "\r",
		`{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{},"requestState":"s"}}`,
		`{"id":1,"result":{"a":1,"a":2}}`,    // no two readers agree on it, but it has one id
		`{"id":1,"result":"` + "\xff" + `"}`, // and so has this
		`[{"id":1,"result":{}},{"method":"x"}]`,
	} {
		s := start(t, script("read", "say "+answer+"\n"))
		s.send(call("1", "t"))
		s.wantNext(answer)
		s.finish()
		wantOutcome(t, s.calls()[0], "t", digestOf(call("1", "t")), answeredWith("call-1", "t", answer))
	}
}

// What is no answer with the call's id leaves the call open.
func TestWhatIsNoAnswerClosesNoCall(t *testing.T) {
	for _, line := range []string{
		`{"id":1,"method":"sampling/createMessage","params":{}}`, // a request of the server's own
		`{"id":1,"method":"x","result":{}}`,
		`{"id":1}`,
		`{"id":1,"Result":{}}`,
		`{"id":"1","result":{}}`,
		`{"id":null,"result":{}}`,
		`{"id":2,"result":{}}`,
		`{"id":1,"id":2,"result":{}}`,
		`{"result":{"id":1}}`,
		`[[{"id":1,"result":{}}]]`,
		`"id":1,"result":{}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
	} {
		s := start(t, script("read", "say "+line+"\n", "read", "say "+result("1")+"\n"))
		s.send(call("1", "t"))
		s.wantNext(line)
		s.send(result("1") + "\n") // what the client tells the server is no answer either
		s.wantNext(result("1"))
		s.finish()
		wantOutcome(t, s.calls()[0], "t", digestOf(call("1", "t")), answeredWith("call-1", "t", result("1")))
	}
}

// A call without an id has no answer; its outcome is written at once.
func TestACallWithoutAnIDIsOverAtOnce(t *testing.T) {
	for _, frame := range []string{
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}` + "\n",
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"t"}}` + "\n",
	} {
		s := start(t, script("read", `say {"id":null,"result":{}}`+"\n"))
		s.send(frame)
		s.wantNext(`{"id":null,"result":{}}`)
		s.awaitRecord(aar.TypeOutcome, 1)
		s.finish()
		wantOutcome(t, s.calls()[0], "t", digestOf(frame), unanswered("call-1", "t", "notification: no answer defined"))
	}
}

// Nothing judges the calls of a session in record mode: a frame that some
// reader might take for a call is forwarded, and recorded as a call of nobody
// knows what.
func TestAFrameThatMayBeACallIsRecorded(t *testing.T) {
	const suffix = "; forwarded, its answer is not known"
	for _, tc := range []struct{ frame, reason string }{
		{`{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, "ambiguous frame: duplicate member name"},
		{`{"id":1,"method":"tools/call","params":{"name":"a","n\u0061me":"b"}}`, "ambiguous frame: duplicate member name"},
		{`{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[{"p":1,"p":2}]}}}`, "ambiguous frame: duplicate member name"},
		{`{"id":1,"id":2,"method":"tools/call","params":{"name":"a"}}`, "ambiguous frame: duplicate member name"},
		{`{"id":1,"method":"ping","METHOD":"tools/call","params":{"name":"a"}}`, "ambiguous frame: member name differs only by case or folding"},
		{`{"id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`, "ambiguous frame: member name differs only by case or folding"},
		{`{"id":1,"method":"tools/call","paramſ":{"name":"a"}}`, "ambiguous frame: member name differs only by case or folding"},
		{`{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"p":"` + "\xff" + `"}}}`, "ambiguous frame: invalid UTF-8"},
		{`{"id":1,"x":` + "\r" + `{"method":"tools/call","params":{"name":"a"}}` + "\r" + `}`, "ambiguous frame: raw CR"},
		{`{"id":1,"method":"tools/call","params":{"name":"a"}} x`, "ambiguous frame: bytes after the value"},
		{`{"id":1,"method":"tools/call"}`, "ambiguous frame: tools/call without a string params.name"},
		{`{"id":1,"method":"tools/call","params":{"name":7}}`, "ambiguous frame: tools/call without a string params.name"},
		{`[[` + strings.TrimSuffix(call("1", "a"), "\n") + `]]`, "ambiguous frame: nested batch"},
		{`{"id":1,"method":"tools/call",}`, "ambiguous frame: not JSON"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := start(t, script("read", "say "+result("1")+"\n"))
			s.send(tc.frame + "\n")
			s.wantNext(result("1"))
			s.finish()
			wantOutcome(t, s.calls()[0], "<unknown>", digestOf(tc.frame), unanswered("call-1", "<unknown>", tc.reason+suffix))
		})
	}
}

func TestWhatIsNoCallIsNotRecorded(t *testing.T) {
	s := start(t, server("echo"))
	s.send(
		ping("1"), result("2")+"\n", cancelled("3"), "\n", "noise\n", "\xff\n", "[]\n", "7\n",
		`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`+"\n",
		`{"jsonrpc":"2.0","id":5,"method":"tools/Call"}`+"\n",
		`{"id":6,"method":"x","params":{"name":"a","name":"b"}}`+"\n",
	)
	s.wantNext(result("1"))
	s.finish()
	if calls := s.calls(); len(calls) > 0 {
		t.Errorf("%d calls on record", len(calls))
	}
}

// Each call of a batch has its own intent and outcome; the digests are those of
// the arrays.
func TestABatchSharesItsDigests(t *testing.T) {
	frame := " [" + strings.Join([]string{
		strings.TrimSuffix(call("1", "a"), "\n"), strings.TrimSuffix(ping("2"), "\n"), strings.TrimSuffix(call("3", "b"), "\n"),
		`{"method":"tools/call","params":{"name":"c"}}`,
	}, ",") + "]\n"
	answer := "[" + result("1") + "," + result("2") + "," + result("3") + "]"
	s := start(t, server("echo"))
	s.send(frame)
	s.wantNext(answer)
	s.finish()
	calls := s.calls()
	if len(calls) != 3 {
		t.Fatalf("%d calls on record", len(calls))
	}
	wantOutcome(t, calls[0], "a", digestOf(frame), answeredWith("call-1", "a", answer))
	wantOutcome(t, calls[1], "b", digestOf(frame), answeredWith("call-2", "b", answer))
	wantOutcome(t, calls[2], "c", digestOf(frame), unanswered("call-3", "c", "notification: no answer defined"))
}

// The elements of a batch may be answered one by one.
func TestABatchMayBeAnsweredInParts(t *testing.T) {
	s := start(t, script("read", "say "+result("2")+"\n", "say "+result("1")+"\n"))
	s.send("[" + strings.TrimSuffix(call("1", "a"), "\n") + "," + strings.TrimSuffix(call("2", "b"), "\n") + "]\n")
	s.wantNext(result("2"))
	s.wantNext(result("1"))
	s.finish()
	for i, answer := range []string{result("1"), result("2")} {
		if c := s.calls()[i]; *c.Outcome.ResponseDigest != digestOf(answer) {
			t.Errorf("%s has the digest of another answer", c.Intent.CallID)
		}
	}
}

// wall_ms is the time between the request's last step towards the server and
// its answer.
func TestWallTimeIsTheRoundTrip(t *testing.T) {
	s := start(t, script("read", "pause 60", "say "+result("1")+"\n"))
	s.send(call("1", "t"))
	s.wantNext(result("1"))
	s.finish()
	if got := *s.calls()[0].Outcome.WallMS; got < 60 || got > uint64(limit.Milliseconds()) {
		t.Errorf("wall_ms is %d", got)
	}
}
