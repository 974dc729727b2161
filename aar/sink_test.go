package aar_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

func TestMemorySinkConforms(t *testing.T) {
	sinktest.Run(t, func(*testing.T) sinktest.Store {
		sink := &aar.MemorySink{}
		return sinktest.Store{
			Open: func() (aar.Sink, error) { sink = &aar.MemorySink{}; return sink, nil },
			Read: func() ([]byte, error) { return sink.Bytes(), nil },
		}
	})
}

func fileStore(t *testing.T) sinktest.Store {
	path := filepath.Join(t.TempDir(), "record.aarl")
	return sinktest.Store{
		Open:     func() (aar.Sink, error) { return aar.OpenFile(path) },
		Read:     func() ([]byte, error) { return os.ReadFile(path) },
		Retained: true,
	}
}

func TestFileSinkConforms(t *testing.T) { sinktest.Run(t, fileStore) }

// The tests of others rely on Faulty: while it has no fault it must be as good
// as what it wraps, and a fault must be one the Sink contract allows.
func TestFaultySinkConforms(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Store {
		store := fileStore(t)
		open := store.Open
		var sink *sinktest.Faulty
		store.Open = func() (aar.Sink, error) {
			inner, err := open()
			sink = sinktest.NewFaulty(inner)
			return sink, err
		}
		store.Break = func() { sink.ShortAppend(7, syscall.ENOSPC) }
		return store
	})
}
