package aar

import (
	"errors"
	"sync"
)

// Durability is what a [Sink] promises of a completed Sync.
type Durability uint8

const (
	// Volatile sinks lose everything with the process. They may be signed by
	// the [DevKey].
	Volatile Durability = iota
	// Durable sinks keep what was appended before a completed Sync through a
	// crash of the process, of the kernel and of the power.
	Durable
)

// A Sink stores the Lines of one Chain. The [Writer] is its only user: it
// calls Append under its lock and Sync outside it, so an Append may run while
// a Sync does. Package sinktest holds the suite that every Sink must pass.
type Sink interface {
	// Durability declares what Sync promises.
	Durability() Durability
	// Tail is the hash of the last Line that was stored before this Session,
	// nil if there was none.
	Tail() *LineHash
	// Append stores whole Lines, each ended by LF, behind what is there, all
	// of them or none. After an error the store ends where it ended before; if
	// it cannot be brought back to that, the error wraps [ErrPoisoned].
	Append(lines []byte) error
	// Sync returns nil once all that was appended before the call is stored as
	// Durability declares. After an error nothing is known of it, and no
	// later Sync may be trusted to repair it.
	Sync() error
	// Close releases the store. It does not sync.
	Close() error
}

// ErrPoisoned says that a Session can record nothing more: what the store
// holds behind the last synced Line is not known.
var ErrPoisoned = errors.New("the record is in an unknown state and takes no more lines until a restart")

// MemorySink keeps the Lines of one Session in memory. It is [Volatile].
type MemorySink struct {
	mu    sync.Mutex
	lines []byte
}

// Durability implements [Sink].
func (*MemorySink) Durability() Durability { return Volatile }

// Tail implements [Sink]: a memory sink starts empty.
func (*MemorySink) Tail() *LineHash { return nil }

// Append implements [Sink]. It never fails.
func (s *MemorySink) Append(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, lines...)
	return nil
}

// Sync implements [Sink]: there is nothing to sync to.
func (*MemorySink) Sync() error { return nil }

// Close implements [Sink].
func (*MemorySink) Close() error { return nil }

// Bytes returns a copy of the record so far.
func (s *MemorySink) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.lines...)
}
