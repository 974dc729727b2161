package interpose

import (
	"time"

	"github.com/aegis-aar/aegis/internal/wire"
)

// sayGone answers requests that the server will not answer any more, if the
// Voice has words for them. It does not wait long for a client that does not read.
func (s *Session) sayGone(open []*openRequest) {
	abort := s.aborted()
	var out []byte
	for _, c := range open {
		if !c.id.Present() {
			continue
		}
		if body := s.cfg.Voice.Gone(nil, c.id, abort); len(body) > 0 {
			out = wire.Append(out, s.client.framing(), body)
		}
	}
	if len(out) == 0 {
		return
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		s.outlet.author(out, s.client.framing())
	}()
	patience := s.cfg.patience.drain
	if s.endsNow() {
		patience = s.cfg.patience.hurry
	}
	select {
	case <-said:
	case <-time.After(patience):
	}
}

// aborted is the failure that ended a strict session, nil if none did.
func (s *Session) aborted() *StrictAbort {
	if !s.endsNow() {
		return nil
	}
	abort, _ := s.cause.(*StrictAbort)
	return abort
}
