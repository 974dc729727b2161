//go:build unix

package interpose

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/aar"
)

const (
	signalled  = "session ended by signal"
	clientGone = "client closed stdin; child did not answer within the shutdown grace"
	inTime     = 1500 * time.Millisecond // for the end by a signal
)

func TestTheServerIsKilledInMidCall(t *testing.T) {
	s := start(t, script("read 2", "die"))
	s.send(call("4", "a"), call("5", "b"))
	if exit, err := s.wait(); exit != (Exit{Signal: "SIGKILL", Number: 9, Early: true}) || err != nil {
		t.Errorf("%+v, %v", exit, err)
	}
	s.wantEndings(childGone, childGone)
}

// A server that stays when its client has left is asked to go, then made to.
func TestASilentServerIsDismissed(t *testing.T) {
	for _, tc := range []struct {
		name, step string
		want       Exit
	}{
		{"asked", "say ready\n", Exit{Signal: "SIGTERM", Number: 15}},
		{"made to", "ignore-signals", Exit{Signal: "SIGKILL", Number: 9}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, script("read", tc.step, "say set\n", "sleep"), withPatience(hurried))
			s.send(call("1", "t"))
			for s.next() != "set\n" {
			}
			s.hangUp()
			if exit, err := s.wait(); exit != tc.want || err != nil {
				t.Errorf("%+v, %v", exit, err)
			}
			s.wantEndings(clientGone)
		})
	}
}

// A signal ends the session within a second and a half, whatever the server and
// the client do, and puts on record what became of the calls.
func TestASignalEndsTheSession(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		for _, step := range []string{"say ready\n", "ignore-signals"} {
			t.Run(fmt.Sprint(sig, " ", step), func(t *testing.T) {
				if signal.Ignored(sig) {
					t.Skip("the server inherits that it is ignored")
				}
				s := start(t, script("read 2", step, "say set\n", "sleep"), brisk)
				s.send(call("1", "a"), call("2", "b"))
				for s.next() != "set\n" {
				}
				began := time.Now()
				s.signals <- sig
				exit, err := s.wait()
				took := time.Since(began)
				ended, ok := errors.AsType[*SignalError](err)
				if !ok || ended.Signal != sig || ended.Number() != int(sig) {
					t.Errorf("%v", err)
				}
				if want := map[bool]int{true: 9, false: int(sig)}[step == "ignore-signals"]; exit.Number != want || exit.Early {
					t.Errorf("%+v, want an end by signal %d", exit, want)
				}
				if took > inTime {
					t.Errorf("it took %v", took)
				}
				s.wantEndings(signalled, signalled)
			})
		}
	}
}

// brisk is half of the patience after a signal: a busy machine has the other half.
func brisk(c *Config) {
	c.patience = defaultPatience
	c.patience.signal /= 2
}

// flood makes a server that writes more than any pipe holds, after its steps.
func flood(t *testing.T, steps ...string) []string {
	says := filepath.Join(t.TempDir(), "flood")
	must(t, os.WriteFile(says, []byte(strings.Repeat("flood\n", 1<<18)), 0o600))
	return script(append(append([]string{"complain 8"}, steps...), "show "+says, "sleep")...)
}

// Nobody reads our stdout, nobody reads our stderr, the server does not read
// its stdin and ignores signals: still it ends in time.
func TestASignalEndsAStuckSession(t *testing.T) {
	unread, stderr, err := os.Pipe()
	must(t, err)
	defer unread.Close()
	defer stderr.Close()
	s := start(t, flood(t, "ignore-signals", "say set\n", "complain 1000000"), brisk, func(c *Config) { c.Stderr = NewPump(stderr) })
	s.wantNext("set")
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		s.stdin.WriteString(call("1", "t") + strings.Repeat(ping("2"), 1<<16))
	}()
	s.awaitRecord(aar.TypeIntent, 1)
	began := time.Now()
	s.signals <- syscall.SIGTERM
	_, err = s.wait()
	if took := time.Since(began); took > inTime {
		t.Errorf("it took %v", took)
	}
	if _, ok := errors.AsType[*SignalError](err); !ok {
		t.Errorf("%v", err)
	}
	<-stuck
	s.wantEndings(signalled)
}

// A client that reads nothing holds the refusals of calls that waited for a
// sync that failed.
func TestASignalEndsASessionOfUnreadRefusals(t *testing.T) {
	s := start(t, script("sleep"), brisk)
	s.damaged = true
	s.sink.FailSync(errDisk)
	release := s.sink.HoldSync()
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		s.stdin.WriteString(strings.Repeat(call("1", "t"), 1<<12))
	}()
	s.awaitRecord(aar.TypeIntent, 600) // their refusals fill a pipe
	release()
	s.stderr.await(t, "refused a call")
	s.awaitFullPipe()
	began := time.Now()
	s.signals <- syscall.SIGTERM
	s.wait()
	if took := time.Since(began); took > inTime {
		t.Errorf("it took %v", took)
	}
	<-stuck
}

// awaitFullPipe waits until what the client does not read fills its pipe: until
// the relay has no more to say on stderr either.
func (s *session) awaitFullPipe() {
	for said := -1; said != len(s.stderr.String()); time.Sleep(100 * time.Millisecond) {
		said = len(s.stderr.String())
	}
}

// A signal counts also when the session is ending already.
func TestASignalWhileWaitingForTheServer(t *testing.T) {
	for _, tc := range []struct {
		name   string
		steps  []string
		hangUp bool
	}{
		{"its client has left", []string{"ignore-signals", "say set\n", "sleep"}, true},
		{"it has closed its stdout", []string{"ignore-signals", "say set\n", "close-stdout", "sleep"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, script(tc.steps...), brisk)
			s.wantNext("set")
			if tc.hangUp {
				s.hangUp()
			} else {
				time.Sleep(50 * time.Millisecond) // nobody outside sees the relay see it
			}
			began := time.Now()
			s.signals <- syscall.SIGTERM
			_, err := s.wait()
			if took := time.Since(began); took > inTime {
				t.Errorf("it took %v", took)
			}
			if _, ok := errors.AsType[*SignalError](err); !ok {
				t.Errorf("%v", err)
			}
		})
	}
}

// A second signal does not wait for the first.
func TestASecondSignalKills(t *testing.T) {
	p := defaultPatience
	p.signal = limit
	s := start(t, script("ignore-signals", "say set\n", "sleep"), withPatience(p))
	s.wantNext("set")
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	if exit, _ := s.wait(); exit.Signal != "SIGKILL" {
		t.Errorf("%+v", exit)
	}
}

// What the server has started is gone when the session is, unless it made a
// session of its own; then it does at least not hold ours.
func TestNothingIsOrphaned(t *testing.T) {
	for _, ownSession := range []bool{false, true} {
		for _, end := range []string{"end-of-input", "exit 0", "sleep"} {
			t.Run(fmt.Sprint(ownSession, " ", end), func(t *testing.T) {
				spawn := "spawn"
				if ownSession {
					spawn = "spawn own session"
				}
				s := start(t, script(spawn, "read", "say "+result("1")+"\n", end), withPatience(hurried))
				pid, err := strconv.Atoi(strings.TrimSpace(s.next()))
				must(t, err)
				defer syscall.Kill(pid, syscall.SIGKILL)
				s.send(call("1", "t"))
				s.wantNext(result("1"))
				s.hangUp()
				began := time.Now()
				s.wait()
				if took := time.Since(began); took > limit/3 {
					t.Errorf("the session took %v to end", took)
				}
				s.wantEndings(success)
				if ownSession {
					if !runs(pid) {
						t.Error("the test is void: the process had ended")
					}
					return
				}
				for deadline := time.Now().Add(limit); runs(pid); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("process %d outlives its session", pid)
					}
				}
			})
		}
	}
}

// runs tells whether a process is there and no zombie.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// A client that takes its time gets all of what the server said before it ended,
// however long that takes.
func TestASlowClientGetsAll(t *testing.T) {
	for _, tc := range []struct {
		name  string
		lines int // so many that the server can end before they are read, or cannot
		end   func(*session)
	}{
		{"of a server that ends", 7_000, func(*session) {}},
		{"after it has hung up", 1 << 16, (*session).hangUp},
	} {
		t.Run(tc.name, func(t *testing.T) {
			says := filepath.Join(t.TempDir(), "says")
			said := strings.Repeat("a line of some length\n", tc.lines)
			must(t, os.WriteFile(says, []byte(said), 0o600))
			p := hurried
			p.drain = 5 * time.Millisecond // is at an end many times while the client reads
			s := start(t, script("show "+says, "exit 0"), withPatience(p))
			first := s.next()
			tc.end(s)
			time.Sleep(3 * hurried.silence) // longer than any patience
			rest, err := io.ReadAll(s.lines)
			must(t, err)
			wantSame(t, "the client got", first+string(rest), said)
			if exit, err := s.wait(); exit.Code != 0 || exit.Signal != "" || err != nil {
				t.Errorf("%+v, %v", exit, err)
			}
		})
	}
}
