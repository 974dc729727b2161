package interpose

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/internal/wire"
)

// downlink reads the child until its stdout ends.
func (s *Session) downlink(r *wire.Reader) {
	defer s.outlet.end()
	for {
		s.heard.Store(s.clock.now())
		f, err := r.Next()
		if err != nil {
			if framing, ok := errors.AsType[*wire.FramingError](err); ok {
				s.stop(fmt.Errorf("server: %w", framing))
			}
			return
		}
		s.heard.Store(s.clock.now())
		s.server.saw(r.Framing())
		if !s.sameFraming() {
			return
		}
		switch {
		case f.OverCap:
			if s.cfg.StrictFrameCap {
				s.stop(&StrictAbort{errOverCap})
				return
			}
			s.longAnswer(r, f)
			continue
		case f.Blank():
		case s.cfg.Inspector != nil:
			s.trace(Server, f)
			if !s.inspected(f, r.Terminated()) {
				return
			}
			continue
		case !s.ledger.empty():
			s.childFrame(f.Body, wire.Classify(f.Body))
		}
		if !s.deliver(f.Raw, r.Terminated(), nil) {
			return
		}
	}
}

// deliver writes a frame of the child to the client, and calls first, if it is
// not nil, before a byte of it. It does neither once the session is aborted.
func (s *Session) deliver(raw []byte, whole bool, first func()) bool {
	s.outlet.mu.Lock()
	defer s.outlet.mu.Unlock()
	if s.aborted() != nil {
		return false
	}
	if first != nil {
		first()
	}
	s.outlet.write(raw, whole)
	return true
}

var errOverCap = errors.New("a server frame is longer than the frame cap")

// childFrame records the outcome of every call that the frame answers, before
// a byte of it reaches the client.
func (s *Session) childFrame(body []byte, m wire.Message) {
	var digest *aar.ResponseDigest
	answered := func(id wire.ID) {
		if !id.Present() {
			return
		}
		if c := s.ledger.take(id); c != nil {
			if digest == nil {
				d := aar.DigestResponse(body)
				digest = &d
			}
			s.answered(c, *digest)
		}
	}
	if m.Class == wire.Exact {
		for i := range m.Elements {
			if e := &m.Elements[i]; e.Kind == wire.Response {
				answered(e.ID)
			}
		}
	} else if m.Kind == wire.Response {
		answered(m.ID)
	}
}

func (s *Session) answered(c *openRequest, digest aar.ResponseDigest) {
	if c.call == nil {
		return
	}
	o := s.answeredOutcome(c)
	o.ResponseDigest = &digest
	s.end(c, o)
}

// answeredOutcome is the outcome of a call whose answer has come, but for what it was.
func (s *Session) answeredOutcome(c *openRequest) aar.Outcome {
	o := c.known
	o.Execution = aar.Execution{Status: aar.Success}
	if t := c.forwarded.Load(); t != 0 {
		ms := uint64(s.clock.since(t).Milliseconds())
		o.WallMS = &ms
	}
	return o
}

// longAnswer passes on a frame that is too long to hold. Its last chunk is kept
// back until the outcome is written: an answer is none before its end.
func (s *Session) longAnswer(r *wire.Reader, f wire.Frame) {
	s.outlet.mu.Lock()
	defer s.outlet.mu.Unlock()
	if s.aborted() != nil {
		return // Next has no more to say
	}
	var scan wire.Scanner
	hash := sha256.New()
	both := io.MultiWriter(&scan, hash)
	both.Write(f.Body)
	held, size := f.Raw, int64(len(f.Body))
	err := r.Rest(func(chunk []byte) error {
		s.outlet.writeHeld(held)
		body := withoutLF(r, chunk)
		both.Write(body)
		size += int64(len(body))
		held = bytes.Clone(chunk)
		return nil
	})
	if err != nil { // Next will say what is wrong; what came passes
		s.outlet.writeHeld(held)
		s.outlet.ended, s.outlet.cut = true, true
		return
	}
	if m := scan.OverCap(); m.Kind == wire.Response && m.ID.Present() {
		if c := s.ledger.take(m.ID); c != nil {
			s.answered(c, aar.ResponseDigest(hash.Sum(nil)))
		}
	}
	s.passedUnread(Server, size)
	s.outlet.writeHeld(held)
	s.outlet.ended, s.outlet.cut = !r.Terminated(), !r.Terminated()
}
