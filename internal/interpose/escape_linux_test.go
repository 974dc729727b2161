package interpose

import (
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// A server that has left its process group is ended with the session all the
// same, by a signal and by the end of its client.
func TestAServerThatLeavesItsGroupIsEnded(t *testing.T) {
	for _, by := range []string{"signal", "client"} {
		t.Run(by, func(t *testing.T) {
			s := start(t, script("read", "ignore-signals", "leave-group", "say set\n", "sleep"), withPatience(hurried))
			s.send(call("1", "t"))
			if got := s.next(); got != "set\n" {
				t.Fatalf("the client got %q", got)
			}
			if by == "signal" {
				begin := time.Now()
				s.signals <- syscall.SIGTERM
				if s.wait(); time.Since(begin) > inTime {
					t.Errorf("the end took %v", time.Since(begin))
				}
			} else {
				s.hangUp()
			}
			if exit, _ := s.wait(); exit.Signal != "SIGKILL" {
				t.Errorf("the server ended with %+v", exit)
			}
		})
	}
}

// A server that has itself traced by its parent stops at its signals. That is
// neither its end nor that of the session.
func TestAServerThatHasItselfTraced(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	const program = `
import ctypes, json, os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None)
for line in sys.stdin:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGUSR1)
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}, separators=(",", ":")), flush=True)
`
	s := start(t, []string{python, "-c", program})
	for _, id := range []string{"1", "2", "3"} {
		s.send(call(id, "t"))
		s.wantNext(result(id))
	}
	s.finish()
	s.wantEndings(success, success, success)
}
