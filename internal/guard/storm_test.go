package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/inspect"
	"github.com/aegis-aar/aegis/internal/interpose"
)

// Whatever a server does, each request is answered: by the server, or, if it said
// nothing to it, by guard, once. Guard adds nothing to an answer of the server.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		requests := map[string]bool{}
		var frames []string
		id := func(i, j int) string {
			id := fmt.Sprintf(rapid.SampledFrom([]string{"%d%02d", `"s%d-%d"`, "%d%02d.0", `"\u0041%d-%d"`}).Draw(rt, "id"), i+1, j)
			requests[id] = true
			return id
		}
		request := func(i, j int) string {
			switch rapid.IntRange(0, 3).Draw(rt, "request") {
			case 0:
				return strings.TrimSuffix(ping(id(i, j)), "\n")
			case 1:
				return strings.TrimSuffix(call(id(i, j), "denied"), "\n")
			}
			return strings.TrimSuffix(call(id(i, j), "t"), "\n")
		}
		for i := range rapid.IntRange(1, 12).Draw(rt, "frames") {
			switch rapid.IntRange(0, 4).Draw(rt, "frame") {
			case 0:
				var batch []string
				for j := range rapid.IntRange(1, 3).Draw(rt, "batch") {
					batch = append(batch, request(i, j))
				}
				frames = append(frames, "["+strings.Join(batch, ", ")+`,{"jsonrpc":"2.0","method":"notifications/x"}]`+"\n")
			case 1: // no reader agrees with the next on what this asks
				frames = append(frames, `{"jsonrpc":"2.0","id":`+id(i, 0)+`,"method":"tools/call","params":{"name":"a","name":"b"}}`+"\n")
			default:
				frames = append(frames, request(i, 0)+"\n")
			}
		}
		gate := filepath.Join(t.TempDir(), "gate")
		set := setup{
			catalog: inspect.Options{Fault: func() {}}, decider: deniesDenied{},
			adjust: func(c *interpose.Config) { c.Strict = rapid.Bool().Draw(rt, "strict") },
		}
		faulty := &faultyInspector{}
		adjust := set.adjust
		set.adjust = func(c *interpose.Config) { adjust(c); faulty.next = c.Inspector; c.Inspector = faulty }
		s := start(outer{t, rt}, server("storm", fmt.Sprint(rapid.Uint64().Draw(rt, "seed")), gate, fmt.Sprint(rapid.IntRange(0, len(frames)).Draw(rt, "until"))), set)
		sent := strings.Join(frames, "")
		s.send(sent)
		s.client.awaitDone(t, len(sent))
		must(t, os.WriteFile(gate, nil, 0o600))
		s.stdin.Close() // no more frames come than the server got by now
		theirs, ours := map[string]int{}, map[string]int{}
		lines := s.rest()
		for _, line := range lines {
			for _, m := range answersIn(line) {
				if m.Error.Data.Warden && m.Error.Data.Stage != stageResponse {
					ours[string(m.ID)]++
				} else {
					theirs[string(m.ID)]++
				}
			}
		}
		for id := range requests {
			if ours[id] > 1 || ours[id] == 1 && theirs[id] > 0 || ours[id]+theirs[id] == 0 {
				rt.Errorf("%s was answered %d times by the server and %d times by guard", id, theirs[id], ours[id])
			}
		}
		for id := range ours {
			if !requests[id] {
				rt.Errorf("guard answered %s, which nobody asked", id)
			}
		}
		if rt.Failed() {
			rt.Logf("sent\n%sgot\n%s", sent, strings.Join(lines, "\n"))
		}
		s.wait()
	})
}

// answer is as much of an answer as tells who wrote it.
type answer struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  struct {
		Code int
		Data struct {
			Warden bool
			Stage  string
		}
	}
}

// answersIn are the answers that a lenient reader finds in a line.
func answersIn(line string) (found []answer) {
	if !strings.HasPrefix(line, "[") {
		line = "[" + line + "]"
	}
	var all []answer
	if json.Unmarshal([]byte(line), &all) != nil {
		return nil
	}
	for _, a := range all {
		if a.Method == "" && len(a.ID) > 0 {
			found = append(found, a)
		}
	}
	return found
}

// deniesDenied refuses the tool `denied`.
type deniesDenied struct{ allows }

func (d deniesDenied) Decide(calls []interpose.ToolCall, verdicts []interpose.Verdict) (aar.PolicySetHash, error) {
	hash, err := d.allows.Decide(calls, verdicts)
	for i, c := range calls {
		if c.Tool == "denied" {
			verdicts[i].Policy = aar.Policy{Status: aar.Denied, Reason: "denied"}
		}
	}
	return hash, err
}

// faultyInspector fails at answers that say so.
type faultyInspector struct{ next interpose.Inspector }

func (f *faultyInspector) Inspect(a interpose.Answer) interpose.Ruling {
	if strings.Contains(string(a.Raw), "FAULT") {
		return interpose.Ruling{Fault: errInspection}
	}
	return f.next.Inspect(a)
}

func (f *faultyInspector) OverCap(from interpose.Side) { f.next.OverCap(from) }

// outer fails the generated case, and cleans up with the test.
type outer struct {
	testing.TB
	rt *rapid.T
}

func (o outer) Fatalf(format string, a ...any) { o.rt.Helper(); o.rt.Fatalf(format, a...) }
func (o outer) Fatal(a ...any)                 { o.rt.Helper(); o.rt.Fatal(a...) }

// A server that floods its answers before it reads, a client that floods its
// requests before it reads: no direction waits for the other once the client reads.
func TestTheDirectionsDoNotWaitForEachOther(t *testing.T) {
	const n = 600 // 2.4 MiB of answers, more than any pipe holds
	s := start(t, server("flood", fmt.Sprint(n)), setup{decider: deniesDenied{}})
	var sent strings.Builder
	for i := range n {
		sent.WriteString(call(fmt.Sprint(i), "t"))
		sent.WriteString(call(fmt.Sprintf(`"d%d"`, i), "denied"))
	}
	first := sent.String()[:sent.Len()/4]
	wrote := make(chan error, 1)
	go func() {
		_, err := s.stdin.Write([]byte(first))
		if err == nil {
			// More than the server's pipe and the relay's reader hold.
			_, err = s.stdin.Write([]byte(sent.String()[len(first):] + strings.Repeat(" ", 1<<20) + "\n"))
		}
		s.stdin.Close()
		wrote <- err
	}()
	s.client.awaitTaken(t, len(first)/8) // the client is late, and has said much
	answered, refused := 0, 0
	lines := s.rest()
	for _, line := range lines {
		switch {
		case line == textAnswer(fmt.Sprint(answered), strings.Repeat("x", 4<<10)):
			answered++
		case strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":"d%d","error":{"code":-32001,`, refused)):
			refused++
		}
	}
	if answered != n || refused != n {
		t.Errorf("%d answers and %d refusals of %d came in order", answered, refused, n)
	}
	if !slices.Contains(lines, fmt.Sprintf(`{"requests":%d}`, n)) {
		t.Errorf("the server did not get %d requests", n)
	}
	must(t, <-wrote)
}
