//go:build linux

package crash

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// patience is how long a test waits for what should come at once.
const patience = 20 * time.Second

// session is a client with a hostile server behind wrap.
type session struct {
	t      *testing.T
	dir    string // names the session: it is in the command line of wrap and of the server
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	pid    chan int      // the server's, once it said so
	got    chan struct{} // an answer came
	done   chan struct{} // wrap's stdout has ended

	mu      sync.Mutex
	answers []string // the digests of the answers that came whole
}

// start starts a session that records to rec. manner is the server's; under is
// the command line of a program to run it all under, if any.
func start(t *testing.T, rec *harness.Recording, dir, manner string, seed uint64, under ...string) *session {
	t.Helper()
	s := &session{t: t, dir: dir, pid: make(chan int, 1), got: make(chan struct{}, 2*maxAwaited), done: make(chan struct{})}
	argv := append(under, rec.Wrap(t, harness.Binary(t, harness.Hostile), s.logPath(), fmt.Sprint(seed), manner)...)
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Stderr = &s.stderr
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(stdout)
	return s
}

func (s *session) logPath() string { return filepath.Join(s.dir, "received.log") }

// received are the digests of the calls that the server received.
func (s *session) received() []string {
	s.t.Helper()
	text, err := os.ReadFile(s.logPath())
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// read takes what wrap writes, to its end.
func (s *session) read(stdout io.Reader) {
	defer close(s.done)
	seen := map[int]bool{} // the ids that have their answer
	in := bufio.NewReader(stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		line = line[:len(line)-1]
		var pid int
		if n, _ := fmt.Sscanf(string(line), "hostile server, pid %d", &pid); n == 1 {
			s.pid <- pid
			continue
		}
		var answer struct {
			ID     int
			Result json.RawMessage
		}
		if json.Unmarshal(line, &answer) != nil || answer.Result == nil || seen[answer.ID] {
			continue // a banner, a notification, an answer to nobody, or one more
		}
		seen[answer.ID] = true
		digest := sha256.Sum256(line)
		s.mu.Lock()
		s.answers = append(s.answers, hex.EncodeToString(digest[:]))
		s.mu.Unlock()
		s.got <- struct{}{}
	}
}

// answered tells whether the server answers the call with this id.
func answered(id int) bool { return id%8 != 0 }

// call sends calls in one write.
func (s *session) call(ids ...int) error {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool-%d","arguments":{"answer":%t}}}`+"\n",
			id, id%3, answered(id))
	}
	_, err := io.WriteString(s.stdin, b.String())
	return err
}

// maxAwaited is how many answers a client lets come before it calls again.
const maxAwaited = 24

// keepCalling sends bursts of calls until the session is over. It tells each
// answer to whoever listens.
func (s *session) keepCalling(random *rand.Rand, told chan<- struct{}) {
	awaited := 0
	for next := 1; ; {
		burst := make([]int, 1+random.IntN(12))
		for i := range burst {
			burst[i] = next
			if answered(next) {
				awaited++
			}
			next++
		}
		if s.call(burst...) != nil {
			return
		}
		for awaited > maxAwaited {
			select {
			case <-s.got:
				awaited--
			case <-s.done:
				return
			}
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}
}

// end waits until wrap has ended and returns its exit code, -1 after a signal.
func (s *session) end() int {
	s.t.Helper()
	s.await(s.done, "wrap to end its stdout")
	s.cmd.Wait() // its error is the state that ExitCode reads
	harness.NoRace(s.t, s.stderr.String())
	return s.cmd.ProcessState.ExitCode()
}

func (s *session) await(event <-chan struct{}, what string) {
	s.t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		s.t.Fatalf("no sign of %s", what)
	}
}

// awaitPID waits until the server has said who it is.
func (s *session) awaitPID() int {
	s.t.Helper()
	select {
	case pid := <-s.pid:
		return pid
	case <-s.done:
	case <-time.After(patience):
		s.cmd.Process.Kill()
	}
	s.cmd.Wait()
	s.t.Fatalf("the server did not come up:\n%s", &s.stderr)
	return 0
}
