package interpose

import (
	"errors"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/aar"
)

var errDisk = errors.New("no space left on device")

// A call that cannot be put on record is not forwarded. What is no call passes,
// and once the sink takes lines again so do calls.
func TestACallWithoutAnIntentIsRefused(t *testing.T) {
	s := start(t, server("echo"))
	s.damaged = true // a line is missing, and verify says so
	s.sink.FailAppend(errDisk)
	s.send(call("1", "refused"), ping("2"), call("3", "recorded"))
	s.wantNext(refusal(AuditError, "1"))
	s.wantNext(result("2"))
	s.wantNext(result("3"))
	s.finish()
	if calls := s.calls(); len(calls) != 1 || calls[0].Intent.ToolID != "recorded" || calls[0].ending() != success {
		t.Errorf("on record: %v", s.endings())
	}
	if report := s.verify(); report.Reason == nil || report.Reason.Code != aar.MissingLine {
		t.Errorf("verify: %s", report.Headline())
	}
	if !strings.Contains(s.stderr.String(), "refused a call: it cannot be put on record: "+errDisk.Error()) {
		t.Errorf("stderr: %q", s.stderr)
	}
}

// A frame that may be a call is one to the record too.
func TestAFrameThatMayBeACallIsRefusedWithoutAnIntent(t *testing.T) {
	s := start(t, server("echo"))
	s.damaged = true
	s.sink.FailAppend(errDisk)
	s.send(`{"id":1,"method":"tools/call"}`+"\n", ping("2"))
	s.wantNext(refusal(AuditError, "1"))
	s.wantNext(result("2"))
	s.finish()
}

// A batch goes as a whole: if one of its calls cannot be recorded, all calls and
// requests in it are refused, and the calls that were in flight stay there.
func TestABatchWithoutAnIntentIsRefused(t *testing.T) {
	s := start(t, script("read 2", "say "+result("1")+"\n"), func(c *Config) {
		c.Recorder = unrecordable{c.Recorder, "unlucky"}
	})
	batch := []string{call("1", "again"), call("2", "unlucky"), ping("3"), cancelled("9"), call("4", "t")}
	for i := range batch {
		batch[i] = strings.TrimSuffix(batch[i], "\n")
	}
	s.send(call("1", "first"), "["+strings.Join(batch, ",")+"]\n")
	s.wantNext("[" + strings.Join([]string{
		refusal(AuditError, "1"), refusal(AuditError, "2"), refusal(AuditError, "3"), refusal(AuditError, "4"),
	}, ",") + "]")
	s.send(ping("5"))
	s.wantNext(result("1"))
	s.finish()
	s.wantEndings(success, "not executed: the record could not be made durable")
}

// unrecordable is a Recorder that refuses the calls of one tool.
type unrecordable struct {
	Recorder
	tool string
}

func (u unrecordable) Begin(tool string, digest aar.RequestDigest, known aar.Outcome) (*aar.Call, error) {
	if tool == u.tool {
		return nil, errDisk
	}
	return u.Recorder.Begin(tool, digest, known)
}

// When a sync fails nobody knows what is on the disk: the calls that waited for
// it and all later ones are refused. What is no call still passes.
func TestCallsAreRefusedWhenASyncFails(t *testing.T) {
	s := start(t, server("echo"))
	s.damaged = true
	s.sink.FailSync(errDisk)
	release := s.sink.HoldSync()
	s.send(call("1", "t"), ping("2"), call("3", "t"), "["+strings.TrimSuffix(call("4", "t"), "\n")+"]\n", `{"id":5,"method":"tools/call"}`+"\n")
	s.awaitRecord(aar.TypeIntent, 4)
	release()
	got := map[string]bool{}
	for range 5 {
		got[strings.TrimSuffix(s.next(), "\n")] = true
	}
	for _, want := range []string{
		refusal(AuditError, "1"), result("2"), refusal(AuditError, "3"), "[" + refusal(AuditError, "4") + "]", refusal(AuditError, "5"),
	} {
		if !got[want] {
			t.Errorf("the client did not get %s", want)
		}
	}
	s.send(call("6", "t"), ping("7"))
	s.wantNext(refusal(AuditError, "6"))
	s.wantNext(result("7"))
	s.finish()
}

// The server has run: hiding its answer because the outcome cannot be written
// would undo nothing. The outcome is written with the next line.
func TestAnAnswerPassesThoughItsOutcomeCannotBeWritten(t *testing.T) {
	s := start(t, server("echo"))
	s.damaged = true
	release := s.sink.HoldSync()
	s.send(call("1", "t"))
	s.awaitSync(2)
	s.sink.FailAppend(errDisk)
	release()
	s.wantNext(result("1"))
	s.wantEndings("none")
	s.stderr.await(t, "the outcome of call-1 is not on record yet: "+errDisk.Error())
	s.send(call("2", "t"))
	s.wantNext(result("2"))
	s.finish()
	s.wantEndings(success, success)
	if report := s.verify(); report.Reason == nil || report.Reason.Code != aar.MissingLine {
		t.Errorf("verify: %s", report.Headline())
	}
}
