package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Options name the files of a run. An empty path is an output not asked for.
type Options struct {
	JSON  string // findings, a JSON object a line
	SARIF string // findings, one SARIF 2.1.0 document

	// Version is the version of this program and Rules are all rules that may
	// fire, fired or not.
	Version string
	Rules   []Rule

	// Subject is the path of the file that stands for a finding without one of
	// its own: the lock, the policy or the trace. Without it [NoSubject] does.
	Subject string

	// Note is told, once for each file, that a file cannot be written any more
	// or has reached its bound. It may be nil.
	Note func(text string)
}

// Sinks write the findings of one run to the files that were asked for. The
// methods may be called from any goroutine.
type Sinks struct {
	mu    sync.Mutex
	sinks []*sink
	note  func(string)
	tally tally
}

// sink is one output. A failure ends it and nothing else.
type sink struct {
	path string
	to   output
	dead bool
}

type output interface {
	write(f *Finding) error
	close(s Summary, t *tally) error
	drop() // closes the file as it is
}

// Open creates the files. It fails, and leaves no file open, if one of them
// cannot be.
func Open(o Options) (*Sinks, error) {
	s := &Sinks{note: o.Note, tally: newTally()}
	if s.note == nil {
		s.note = func(string) {}
	}
	if o.JSON != "" && o.SARIF != "" && sameFile(o.JSON, o.SARIF) {
		return nil, fmt.Errorf("%s cannot hold two outputs", o.SARIF)
	}
	if o.JSON != "" {
		f, err := Create(o.JSON)
		if err != nil {
			return nil, err
		}
		s.sinks = append(s.sinks, &sink{path: o.JSON, to: NewJSONL(f)})
	}
	if o.SARIF != "" {
		f, err := open(o.SARIF) // what it held is replaced by a whole document
		if err == nil {
			var doc *SARIF
			if doc, err = NewSARIF(f, o.Version, o.Rules, o.Subject); err == nil {
				s.sinks = append(s.sinks, &sink{path: o.SARIF, to: doc})
			} else {
				f.Close()
			}
		}
		if err != nil {
			for _, sink := range s.sinks {
				sink.to.drop()
			}
			return nil, err
		}
	}
	return s, nil
}

// sameFile reports whether two paths name one file, or would.
func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && first.Mode().IsRegular() && os.SameFile(first, second)
}

// Report writes a finding to every output. It never fails: the first failure of
// an output is told by [Options.Note] and the output is left as it is.
func (s *Sinks) Report(f Finding) {
	f = f.redacted()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.add(&f)
	for _, sink := range s.sinks {
		if !sink.dead {
			s.check(sink, sink.to.write(&f))
		}
	}
}

// Close writes the ends of the outputs and closes them. The error is the first
// failure of any of them, now or before.
func (s *Sinks) Close(sum Summary) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sink := range s.sinks {
		if sink.dead {
			sink.to.drop()
			continue
		}
		s.check(sink, sink.to.close(sum, &s.tally))
	}
	s.sinks = nil
	return s.tally.err
}

func (s *Sinks) check(sink *sink, err error) {
	if err == nil {
		return
	}
	if !errors.Is(err, errBound) {
		sink.dead = true
		err = fmt.Errorf("%s is not written any more: %w", sink.path, err)
		if s.tally.err == nil {
			s.tally.err = err
		}
	} else {
		err = fmt.Errorf("%s: %w", sink.path, err)
	}
	s.note(err.Error())
}
