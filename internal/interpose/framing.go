package interpose

import (
	"fmt"
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
