// Package sinktest holds the conformance suite that every [aar.Sink] must pass
// ([Run]), a Sink that fails on demand and logs what happened in which order
// ([Faulty]), and one that models the power going out ([PowerLoss]).
package sinktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aegis-aar/aegis/aar"
)

// A Store is one place that Sinks keep a Chain in. It starts out empty.
type Store struct {
	// Open opens the Store, and opens it again once the Sink before is closed:
	// what the next Session of the same record does.
	Open func() (aar.Sink, error)
	// Read returns all that the Store holds.
	Read func() ([]byte, error)
	// Retained says that the Lines outlive the Sink, so that a Sink opened
	// again has a Tail.
	Retained bool
	// Break makes the next Append of the open Sink fail. nil leaves out the
	// part of the suite that needs it.
	Break func()
}

// Run checks that the Sinks of a Store keep what [aar.Sink] promises. fresh
// makes a new Store.
func Run(t *testing.T, fresh func(t *testing.T) Store) {
	for _, tc := range []struct {
		name  string
		check func(*testing.T, Store)
	}{
		{"starts empty", startsEmpty},
		{"stores whole lines in order", storesInOrder},
		{"stores all of a failed append or none", allOrNothing},
		{"appends while it syncs", appendsWhileSyncing},
		{"recovers the tail", recoversTail},
		{"holds the chain of many goroutines", holdsOneChain},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.check(t, fresh(t)) })
	}
}

func open(t *testing.T, s Store) aar.Sink {
	t.Helper()
	sink, err := s.Open()
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return sink
}

func mustClose(t *testing.T, sink aar.Sink) {
	t.Helper()
	if err := sink.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func (s Store) want(t *testing.T, want []byte) {
	t.Helper()
	got, err := s.Read()
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("the store holds %d bytes, want %d:\n%.2000q\nwant\n%.2000q", len(got), len(want), got, want)
	}
}

func startsEmpty(t *testing.T, s Store) {
	sink := open(t, s)
	if tail := sink.Tail(); tail != nil {
		t.Errorf("Tail of an empty store: %s", tail)
	}
	if d := sink.Durability(); d != aar.Durable && d != aar.Volatile {
		t.Errorf("Durability %d", d)
	} else if d == aar.Durable && !s.Retained {
		t.Error("what is durable must be retained")
	}
	if err := sink.Sync(); err != nil {
		t.Errorf("Sync with nothing to sync: %v", err)
	}
	s.want(t, nil)
	mustClose(t, sink)
}

func storesInOrder(t *testing.T, s Store) {
	sink := open(t, s)
	durability := sink.Durability()
	var want []byte
	for i := range 100 {
		// One line, several at once, and lines longer than any buffer on the way.
		lines := bytes.Repeat(fmt.Appendf(nil, "{\"line\":%d}\n", i), 1+i%3)
		if i%10 == 9 {
			lines = append(bytes.Repeat([]byte{'x'}, 200_000), '\n')
		}
		want = append(want, lines...)
		if err := sink.Append(lines); err != nil {
			t.Fatalf("Append: %v", err)
		}
		clear(lines) // the slice is the caller's again
	}
	s.want(t, want)
	if err := sink.Sync(); err != nil {
		t.Fatalf("Sync: %v", err)
	}
	if sink.Durability() != durability {
		t.Error("Durability has changed")
	}
	s.want(t, want)
	mustClose(t, sink)
	if s.Retained {
		s.want(t, want)
	}
}

func allOrNothing(t *testing.T, s Store) {
	if s.Break == nil {
		t.Skip("this store has no way to make an append fail")
	}
	sink := open(t, s)
	defer mustClose(t, sink)
	first, lost, last := []byte("{\"line\":1}\n"), bytes.Repeat([]byte("{\"lost\":1}\n"), 5000), []byte("{\"line\":2}\n")
	if err := sink.Append(first); err != nil {
		t.Fatal(err)
	}
	s.Break()
	err := sink.Append(lost)
	if err == nil {
		t.Fatal("the broken Append reported no error")
	}
	if errors.Is(err, aar.ErrPoisoned) {
		return // nothing is promised of what the store holds
	}
	s.want(t, first)
	if err := sink.Append(last); err != nil {
		t.Fatalf("Append after a failed one: %v", err)
	}
	s.want(t, append(first, last...))
}

func appendsWhileSyncing(t *testing.T, s Store) {
	sink := open(t, s)
	var want []byte
	done := make(chan struct{})
	var syncer sync.WaitGroup
	syncer.Go(func() {
		for {
			if err := sink.Sync(); err != nil {
				t.Errorf("Sync: %v", err)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for i := range 200 {
		line := fmt.Appendf(nil, "{\"line\":%d}\n", i)
		want = append(want, line...)
		if err := sink.Append(line); err != nil {
			t.Errorf("Append: %v", err)
			break
		}
	}
	close(done)
	syncer.Wait()
	s.want(t, want)
	mustClose(t, sink)
}

func recoversTail(t *testing.T, s Store) {
	for session := range uint64(3) {
		sink := open(t, s)
		var before []byte
		if s.Retained {
			var err error
			if before, err = s.Read(); err != nil {
				t.Fatal(err)
			}
		}
		if tail, want := sink.Tail(), lastLineHash(before); (tail == nil) != (want == nil) || tail != nil && *tail != *want {
			t.Fatalf("Tail in session %d: %v, want %v", session, tail, want)
		}
		w := newWriter(t, sink)
		recordCall(t, w)
		if err := w.Close(aar.Close{}); err != nil { // closes the sink
			t.Fatal(err)
		}
		if s.Retained {
			s.wantVerified(t, session+1)
		}
	}
}

func holdsOneChain(t *testing.T, s Store) {
	w := newWriter(t, open(t, s))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 10 {
				recordCall(t, w)
			}
		})
	}
	group.Wait()
	var live []byte
	if !s.Retained {
		live, _ = s.Read()
	}
	if err := w.Close(aar.Close{}); err != nil {
		t.Fatal(err)
	}
	if s.Retained {
		s.wantVerified(t, 1)
	} else if report := verify(t, live); !report.OpenTailOnly() {
		t.Errorf("before the close: %s", report.Headline())
	}
}

func newWriter(t *testing.T, sink aar.Sink) *aar.Writer {
	t.Helper()
	w, err := aar.NewWriter(sink, Key())
	if err != nil {
		t.Fatalf("NewWriter: %v", err)
	}
	return w
}

// Key is a signing key for tests. Its seed is 32 bytes of 0x51.
func Key() *aar.SigningKey {
	return aar.NewSigningKey([32]byte(bytes.Repeat([]byte{0x51}, 32)))
}

func recordCall(t *testing.T, w *aar.Writer) {
	known := aar.Unevaluated(aar.HashPolicySet([]byte("{}")))
	call, err := w.Begin("echo", aar.DigestRequest([]byte("{}")), known)
	if err != nil {
		t.Errorf("Begin: %v", err)
		return
	}
	defer call.Release()
	if err := call.Durable(); err != nil {
		t.Errorf("Durable: %v", err)
	}
	known.Execution = aar.Execution{Status: aar.Success}
	if err := call.End(known); err != nil {
		t.Errorf("End: %v", err)
	}
}

func verify(t *testing.T, file []byte) *aar.Report {
	t.Helper()
	report, err := aar.Verify(context.Background(), bytes.NewReader(file), aar.VerifyOptions{})
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return report
}

func (s Store) wantVerified(t *testing.T, sessions uint64) {
	t.Helper()
	file, err := s.Read()
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if report := verify(t, file); report.Verdict != aar.Verified || report.Sessions != sessions || len(report.Unmatched) > 0 {
		t.Errorf("%d sessions of %d, %d calls without an outcome: %s", report.Sessions, sessions, len(report.Unmatched), report.Headline())
	}
}

// lastLineHash is the hash of the last Line of a file in canonical form.
func lastLineHash(file []byte) *aar.LineHash {
	rows := slices.DeleteFunc(bytes.Split(file, []byte("\n")), func(row []byte) bool { return len(row) == 0 })
	if len(rows) == 0 {
		return nil
	}
	hash := aar.LineHash(sha256.Sum256(rows[len(rows)-1]))
	return &hash
}
