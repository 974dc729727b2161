package interpose

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/aegis-aar/aegis/internal/wire"
)

// framingWatch remembers how one side tells its messages apart.
type framingWatch struct{ seen atomic.Uint32 }

func (w *framingWatch) saw(f wire.Framing) { w.seen.Store(uint32(f)) }

func (w *framingWatch) framing() wire.Framing { return wire.Framing(w.seen.Load()) }

// sameFraming ends the session if the two sides cannot understand each other.
func (s *Session) sameFraming() bool {
	client, server := s.client.framing(), s.server.framing()
	if client == server || client == wire.FramingUnknown || server == wire.FramingUnknown {
		return true
	}
	s.stop(&FramingMismatch{Client: client, Server: server})
	return false
}

// FramingMismatch says that client and server tell their messages apart in
// different ways, so that neither can be relayed to the other.
type FramingMismatch struct{ Client, Server wire.Framing }

func (e *FramingMismatch) Error() string {
	return fmt.Sprintf("the client speaks %s framing, but the server speaks %s framing", e.Client, e.Server)
}

var errHeaderName = errors.New("a header line has a name that is no token of HTTP")

// plainHeader reports whether every header line of a Content-Length frame is
// named by a token, as HTTP has it. Which framing the server speaks is not known
// before it has spoken, and one that reads lines takes `{"method":…}` in the
// place of a name for a message, which nobody would have judged.
func plainHeader(f wire.Frame) bool {
	for line := range bytes.Lines(f.Raw[:len(f.Raw)-len(f.Body)]) {
		name, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte{':'})
		if bytes.ContainsFunc(name, notOfToken) {
			return false
		}
	}
	return true
}

func notOfToken(r rune) bool {
	switch {
	case '0' <= r && r <= '9', 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
