package guard

import (
	"sync"
	"time"

	"github.com/aegis-aar/aegis/internal/interpose"
	"github.com/aegis-aar/aegis/internal/trace"
)

// Recording keeps the frames of a session as they come. A recording that cannot
// be written any more is told once and ends nothing.
type Recording struct {
	to   *trace.Writer
	note func(error)
	once sync.Once
}

// NewRecording writes to a file, which holds secrets, and tells note if it fails.
func NewRecording(to *trace.Writer, note func(error)) *Recording {
	return &Recording{to: to, note: note}
}

// Frame implements [interpose.Tracer].
func (r *Recording) Frame(from interpose.Side, body []byte) {
	r.check(r.to.Frame(direction(from), time.Now(), body))
}

// Omitted implements [interpose.Tracer].
func (r *Recording) Omitted(from interpose.Side, bytes int64) {
	r.check(r.to.Omitted(direction(from), time.Now(), bytes))
}

func (r *Recording) check(err error) {
	if err != nil {
		r.once.Do(func() { r.note(err) })
	}
}

func direction(from interpose.Side) trace.Direction {
	if from == interpose.Client {
		return trace.Client
	}
	return trace.Server
}
