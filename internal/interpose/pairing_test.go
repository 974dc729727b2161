package interpose

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

var longID = `"` + strings.Repeat("i", 10_000) + `"`

// A frame that is not forwarded takes its own requests along, and not a later
// call with the id of one of them.
func TestForgetLeavesALaterCallWithTheSameID(t *testing.T) {
	t.Parallel()
	id := wire.ID{Raw: []byte("1")}
	first, second := &openRequest{id: id, call: unrecorded{}}, &openRequest{id: id, call: unrecorded{}}
	l := newLedger(4)
	l.add(first)
	l.add(second)
	l.forget([]*openRequest{first}, []wire.Element{{ID: id}})
	if got := l.take(id); got != second {
		t.Errorf("the answer finds %v, not the later call", got)
	}
}

// Ids of every kind are kept as the bytes that were sent, all open at once.
func TestEveryAnswerReachesItsCall(t *testing.T) {
	ids := []string{
		"7", `"7"`, "1.0", "2e0", "3.14", "-1", "9007199254740992", "9007199254740993",
		"12345678901234567890", `""`, `"\u00e9"`, longID,
	}
	answers := slices.Clone(ids)
	slices.Reverse(answers)
	steps := []string{fmt.Sprint("read ", len(ids))}
	for _, id := range answers {
		steps = append(steps, "say "+result(id)+"\n")
	}
	s := start(t, script(steps...))
	for _, id := range ids {
		s.send(call(id, "t"))
	}
	for _, id := range answers {
		s.wantNext(result(id))
	}
	s.finish()
	for i, c := range s.calls() {
		if c.Intent.RequestDigest != digestOf(call(ids[i], "t")) {
			t.Errorf("%s is not in the order of the client", c.Intent.CallID)
		}
		if d := c.Outcome.ResponseDigest; d == nil || *d != digestOf(result(ids[i])) {
			t.Errorf("id %.40s: the digest of its answer is %v", ids[i], d)
		}
	}
}

// An answer finds its call by the exact text of the id, or else by its value if
// only one open call has it. A string never equals a number.
func TestAnswersArePairedByTextThenByValue(t *testing.T) {
	const open = "child exited before responding"
	for _, tc := range []struct {
		name        string
		ids, answer []string
		want        []string
	}{
		{"equal numbers", []string{"1.0"}, []string{"1"}, []string{success}},
		{"equal strings", []string{`"a"`}, []string{`"\u0061"`}, []string{success}},
		{"the exact text comes first", []string{"1.0", "1"}, []string{"1"}, []string{open, success}},
		{"then what is left", []string{"1.0", "1"}, []string{"1", "1"}, []string{success, success}},
		{"two equal values", []string{"1.0", "1e0"}, []string{"1"}, []string{open, open}},
		{"string for number", []string{"1"}, []string{`"1"`}, []string{open}},
		{"number for string", []string{`"1"`}, []string{"1"}, []string{open}},
		{"one float64, two numbers", []string{"9007199254740992"}, []string{"9007199254740993"}, []string{open}},
		{"the second answer is for nobody", []string{"1", "2"}, []string{"1", "1"}, []string{success, open}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			steps := []string{fmt.Sprint("read ", len(tc.ids))}
			for _, id := range tc.answer {
				steps = append(steps, "say "+result(id)+"\n")
			}
			s := start(t, script(steps...))
			for _, id := range tc.ids {
				s.send(call(id, "t"))
			}
			for _, id := range tc.answer {
				s.wantNext(result(id))
			}
			s.finish()
			s.wantEndings(tc.want...)
		})
	}
}

// No answer can be told apart from that of an earlier call with the same id:
// the new call takes its place.
func TestAnIDThatIsUsedAgainInFlight(t *testing.T) {
	s := start(t, script("read 2", "say "+result("1")+"\n", "say "+result("1")+"\n"))
	s.send(call("1", "first"), call("1", "second"))
	s.wantNext(result("1"))
	s.wantNext(result("1"))
	s.finish()
	calls := s.calls()
	wantOutcome(t, calls[0], "first", digestOf(call("1", "first")), unanswered("call-1", "first", "session abandoned"))
	wantOutcome(t, calls[1], "second", digestOf(call("1", "second")), answeredWith("call-2", "second", result("1")))
}

func TestAnIDThatIsUsedAgainAfterItsAnswer(t *testing.T) {
	s := start(t, server("echo"))
	for range 3 {
		s.send(call("1", "t"))
		s.wantNext(result("1"))
	}
	s.finish()
	s.wantEndings(success, success, success)
}

func TestAnIDThatOccursTwiceInABatch(t *testing.T) {
	s := start(t, server("echo"))
	one := strings.TrimSuffix(call("1", "t"), "\n")
	s.send("[" + one + "," + one + "]\n")
	s.next()
	s.finish()
	s.wantEndings("session abandoned", success)
}

// A cancelled call stays open for a late answer.
func TestACancelledCall(t *testing.T) {
	s := start(t, script("read 5", "say "+result("1")+"\n"))
	s.send(call("1", "late"), call("2", "never"), call("9007199254740992", "other"), cancelled("1"))
	s.send("[" + strings.TrimSuffix(cancelled("2.0"), "\n") + "," + strings.TrimSuffix(cancelled("9007199254740993"), "\n") + "]\n")
	s.wantNext(result("1"))
	s.finish()
	s.wantEndings(success, "cancelled by the client; no answer", "child exited before responding")
}

// Long answers out of order: each reaches its call, none is cut into.
func TestManyAnswersInAnotherOrder(t *testing.T) {
	const n = 200
	s := start(t, server("shuffle", fmt.Sprint(n)))
	go func() {
		for i := range n {
			s.send(call(fmt.Sprint(i), "t"))
		}
	}()
	got := map[string]bool{}
	for range n {
		got[s.next()] = true
	}
	s.finish()
	for i, c := range s.calls() {
		want := longResult(fmt.Sprint(i))
		if !got[want] || *c.Outcome.ResponseDigest != digestOf(want) {
			t.Errorf("answer %d did not arrive or is not on record", i)
		}
	}
}

// With DefaultMaxInFlight calls open the client is not read until one is answered.
func TestCallsInFlightAreBounded(t *testing.T) {
	const more = 20
	var batch, behind []string
	for i := range DefaultMaxInFlight {
		batch = append(batch, strings.TrimSuffix(call(fmt.Sprint(i), "t"), "\n"))
	}
	steps := []string{"read", "pause 50"}
	for i := range more {
		behind = append(behind, call(fmt.Sprint(DefaultMaxInFlight+i), "t"))
		steps = append(steps, "say "+result(fmt.Sprint(i))+"\n", "read")
	}
	records := &manyWriters{t: t}
	answers := 0
	s := start(t, script(steps...), func(c *Config) {
		c.Recorder = records
		c.Answer = writerFunc(func(p []byte) {
			answers += bytes.Count(p, []byte("\n")) // each makes room for one call
			if begun, room := int(records.begun.Load()), DefaultMaxInFlight+answers; begun > room {
				t.Errorf("%d calls were let in when there was room for %d", begun, room)
			}
		})
	})
	s.send("[" + strings.Join(batch, ",") + "]\n")
	s.send(behind...)
	s.finish()
	if begun := records.begun.Load(); begun != DefaultMaxInFlight+more {
		t.Errorf("%d calls were let in", begun)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// manyWriters spreads its calls over many records: with thousands of open calls
// one Writer is slow.
type manyWriters struct {
	t     *testing.T
	begun atomic.Int64
	w     *aar.Writer
}

func (m *manyWriters) Begin(tool string, digest aar.RequestDigest, known aar.Outcome) (*aar.Call, error) {
	if m.begun.Add(1)%128 == 1 {
		w, err := aar.NewWriter(&aar.MemorySink{}, aar.DevKey())
		must(m.t, err)
		m.t.Cleanup(func() { w.Close(aar.Close{}) })
		m.w = w
	}
	return m.w.Begin(tool, digest, known)
}

func (m *manyWriters) Record(string, aar.RequestDigest, aar.Outcome) error { panic("not called") }

func id(n int) wire.ID { return wire.ID{Raw: []byte(fmt.Sprint(n))} }

// A call that the client has cancelled gives up its place where none is left: a
// server that never answers does not keep the client from being read.
func TestCancelledCallsMakeRoom(t *testing.T) {
	l := newLedger(DefaultMaxInFlight)
	for i := range DefaultMaxInFlight {
		l.add(&openRequest{id: id(i)})
	}
	l.cancel(id(7))
	l.cancel(id(3))
	if got := l.waitRoom(1); len(got) != 1 || string(got[0].id.Raw) != "3" {
		t.Errorf("%d calls made room", len(got))
	}
	if got := l.waitRoom(1); len(got) != 0 {
		t.Error("a call made room where there was some")
	}
	if l.take(id(3)) != nil || l.take(id(7)) == nil {
		t.Error("the wrong call made room")
	}
}

// A batch of more calls than fit at once waits for an empty ledger.
func TestABatchAtTheBoundWaits(t *testing.T) {
	l := newLedger(DefaultMaxInFlight)
	for i := range DefaultMaxInFlight {
		l.add(&openRequest{id: id(i)})
	}
	fits := make(chan struct{})
	go func() { l.waitRoom(2); close(fits) }()
	l.take(id(0))
	select {
	case <-fits:
		t.Error("two calls found room for one")
	default:
	}
	l.take(id(1))
	<-fits

	tooMany := make(chan struct{})
	go func() { l.waitRoom(DefaultMaxInFlight + 1); close(tooMany) }()
	for i := 2; i < DefaultMaxInFlight; i++ {
		l.take(id(i))
	}
	<-tooMany
}

// Nobody waits in a ledger that is closed, and nothing is lost in it.
func TestAClosedLedger(t *testing.T) {
	l := newLedger(DefaultMaxInFlight)
	for i := range DefaultMaxInFlight {
		l.add(&openRequest{id: id(i)})
	}
	waits := make(chan struct{})
	go func() { l.waitRoom(1); close(waits) }()
	left := l.close()
	<-waits
	for i, c := range left {
		if string(c.id.Raw) != fmt.Sprint(i) {
			t.Fatalf("call %d comes at place %d", i, i)
		}
	}
	if len(left) != DefaultMaxInFlight || l.take(id(0)) != nil || !l.empty() {
		t.Errorf("%d calls were left", len(left))
	}
}
