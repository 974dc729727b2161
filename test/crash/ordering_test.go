//go:build linux

package crash

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/test/internal/harness"
)

// For every call, the kernel says: the sync that covers its intent had returned
// before the first byte of the call was written to the server.
func TestIntentIsOnDiskBeforeTheServerSeesTheCall(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: the order of system calls is not looked at")
	}
	rec := harness.NewRecording(t, t.TempDir())
	dir := t.TempDir()
	trace := filepath.Join(dir, "trace")
	s := start(t, rec, dir, "polite", 1,
		strace, "-f", "-xx", "-s", "10000000", "-e", "trace=fdatasync,write,writev", "-e", "signal=none", "-o", trace)
	s.awaitPID()

	const bursts, inBurst = 20, 8 // of which ids that are multiples of 8 stay unanswered
	for burst := range bursts {
		var ids []int
		for i := range 1 + burst%inBurst {
			ids = append(ids, 1+burst*inBurst+i)
		}
		if err := s.call(ids...); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if answered(id) {
				s.await(s.got, "an answer")
			}
		}
	}
	s.stdin.Close()
	if code := s.end(); code != 0 {
		t.Fatalf("the session ended with %d\n%s", code, &s.stderr)
	}

	calls := readTrace(t, trace)
	intents := map[string]*systemCall{} // the write of the record, by the digest of the request
	forwards := map[string]*systemCall{}
	record := -1
	for _, c := range calls {
		for line := range strings.Lines(c.data) {
			line = strings.TrimSuffix(line, "\n")
			var in struct {
				Type   string `json:"line_type"`
				Digest string `json:"request_digest"`
				Method string
			}
			if json.Unmarshal([]byte(line), &in) != nil {
				continue
			}
			switch {
			case in.Type == "intent":
				intents[in.Digest], record = c, c.fd
			case in.Method == "tools/call":
				digest := sha256.Sum256([]byte(line))
				forwards[hex.EncodeToString(digest[:])] = c
			}
		}
	}
	received := s.received()
	if len(received) < bursts {
		t.Fatalf("the server received %d calls", len(received))
	}
	for _, digest := range received {
		intent, forward := intents[digest], forwards[digest]
		if intent == nil || forward == nil {
			t.Errorf("call %s: the trace has intent %v, forward %v", digest, intent, forward)
			continue
		}
		covered := slices.ContainsFunc(calls, func(c *systemCall) bool {
			return c.name == "fdatasync" && c.fd == record && c.result == 0 &&
				c.began > intent.ended && c.ended < forward.began
		})
		if !covered {
			t.Errorf("call %s: no sync between\n%s\n%s", digest, intent, forward)
		}
	}
}
