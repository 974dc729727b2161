//go:build unix

package interpose

import (
	"errors"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/wire"
)

// Whatever a client sends through a relay to cat comes back as it was, the
// session ends, and the record verifies.
func FuzzRelay(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "half a li", call("1", "t"), call("1", "t") + result("1") + "\n", call("1", "t") + call("1", "t") + cancelled("1"),
		"[" + strings.TrimSuffix(call("1", "t"), "\n") + "," + result("1") + "]\n" + result("1"),
		`{"id":1,"method":"tools/call","method":"ping"}` + "\r\n", "\xff\xfe\n" + ping("1"), "\x00\r\r\n",
		framed(ping("1")) + "\r\n" + framed(strings.TrimSuffix(call("2", "t"), "\n")), "Content-Length: 5\r\n\r\n{}", "content-LENGTH:0\n\n",
		strings.Repeat(call(`"x"`, "t"), 50), strings.Repeat("\n", 1000), strings.Repeat("x", 100_000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := start(t, []string{"cat"})
		go func() {
			s.stdin.Write(sent)
			s.hangUp()
		}()
		got := s.rest()
		_, err := s.wait()
		if _, ok := errors.AsType[*wire.FramingError](err); ok {
			if !strings.HasPrefix(string(sent), got) {
				t.Errorf("the client got %q for %q", got, sent)
			}
			return
		}
		if err != nil {
			t.Errorf("the session ended with %v", err)
		}
		wantSame(t, "the client got", got, string(sent))
	})
}
