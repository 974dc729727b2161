package aar_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

// Positions, hashes and writes happen under one lock: whatever the goroutines
// do, the file is one Chain without a fork, and every Call has one outcome.
func TestManyGoroutinesWriteOneChain(t *testing.T) {
	var sink aar.MemorySink
	w := mustWriter(t, &sink)
	const goroutines, rounds = 16, 20
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range rounds {
				c, err := w.Begin(fmt.Sprintf("tool-%d", g), request, aar.Unevaluated(policySet))
				if err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(
					w.Record("refused", request, aar.Unevaluated(policySet)),
					w.Decide(fmt.Sprintf("apr-%d-%d", g, i), aar.Verdict{Reason: "no"}),
					c.Durable(),
				)
				if i%2 == 0 {
					c.Release()
				} else {
					err = errors.Join(err, c.End(succeeded()))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	must(t, w.Close(aar.Close{}))
	report := verify(t, sink.Bytes())
	if report.Verdict != aar.Verified || len(report.Unmatched) > 0 {
		t.Errorf("%d intents without an outcome; %s", len(report.Unmatched), report.Headline())
	}
	if want := uint64(goroutines * rounds * 2); report.Calls != want || uint64(len(outcomes(t, sink.Bytes()))) != want {
		t.Errorf("%d calls, %d outcomes, want %d of each", report.Calls, len(outcomes(t, sink.Bytes())), want)
	}
}

func TestEveryCallHasExactlyOneOutcome(t *testing.T) {
	success := aar.Execution{Status: aar.Success}
	abandoned := aar.Execution{Status: aar.HostDenied, Reason: "session abandoned"}
	trapped := aar.Execution{Status: aar.Trap, Message: "host panic during tool call"}
	for _, tc := range []struct {
		name string
		call func(*testing.T, *aar.Call)
		want aar.Execution
	}{
		{"End", func(t *testing.T, c *aar.Call) { must(t, c.End(succeeded())) }, success},
		{"End twice: the first decides", func(t *testing.T, c *aar.Call) {
			must(t, c.End(succeeded()))
			must(t, c.End(aar.Unevaluated(policySet)))
		}, success},
		{"End, then the deferred Release", func(t *testing.T, c *aar.Call) {
			defer c.Release()
			must(t, c.End(succeeded()))
		}, success},
		{"Release alone", func(_ *testing.T, c *aar.Call) { c.Release() }, abandoned},
		{"Release twice", func(_ *testing.T, c *aar.Call) { c.Release(); c.Release() }, abandoned},
		{"Release, then End", func(t *testing.T, c *aar.Call) { c.Release(); must(t, c.End(succeeded())) }, abandoned},
		{"a panic goes on through Release", func(t *testing.T, c *aar.Call) {
			defer func() {
				if r := recover(); r != "a tool" {
					t.Errorf("recovered %v", r)
				}
			}()
			defer c.Release()
			panic("a tool")
		}, trapped},
		{"a panic after End", func(_ *testing.T, c *aar.Call) {
			defer func() { recover() }()
			defer c.Release()
			c.End(succeeded())
			panic("too late to matter")
		}, success},
		{"the goroutine exits", func(_ *testing.T, c *aar.Call) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer c.Release()
				runtime.Goexit()
			}()
			<-done
		}, abandoned},
		{"nothing: Close ends it", func(*testing.T, *aar.Call) {}, abandoned},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var sink aar.MemorySink
			w := mustWriter(t, &sink)
			c := mustBegin(t, w)
			tc.call(t, c)
			must(t, w.Close(aar.Close{}))
			must(t, c.End(aar.Unevaluated(policySet))) // too late: nothing happens
			wantHeadline(t, sink.Bytes(), "Verified (unpinned)")
			got := outcomes(t, sink.Bytes())
			if len(got) != 1 {
				t.Fatalf("%d outcomes", len(got))
			}
			if got[0].CallID != c.ID() || got[0].Execution != tc.want {
				t.Errorf("%s: %+v, want %+v", got[0].CallID, got[0].Execution, tc.want)
			}
			if tc.want != success && got[0].Policy.Reason != "not evaluated" {
				t.Errorf("the record loses what was known at Begin: %+v", got[0].Policy)
			}
		})
	}
}

// The handle, not its user, says which Call an outcome belongs to.
func TestOutcomeCarriesItsCall(t *testing.T) {
	var sink aar.MemorySink
	w := mustWriter(t, &sink)
	other := succeeded()
	other.CallID, other.ToolID, other.RequestDigest = "call-99", "other", aar.DigestRequest([]byte("other"))
	must(t, mustBegin(t, w).End(other))
	must(t, w.Close(aar.Close{}))
	intent, outcome := lines(t, sink.Bytes())[1].(*aar.Intent), outcomes(t, sink.Bytes())[0]
	if outcome.CallID != "call-1" || outcome.CallID != intent.CallID || outcome.ToolID != intent.ToolID || outcome.RequestDigest != intent.RequestDigest {
		t.Errorf("intent %+v, outcome %+v", intent, outcome)
	}
}

func TestCloseEndsOpenCallsInCallOrder(t *testing.T) {
	var sink aar.MemorySink
	w := mustWriter(t, &sink)
	var open []*aar.Call
	for range 20 {
		open = append(open, mustBegin(t, w))
	}
	must(t, open[7].End(succeeded()))
	must(t, w.Close(aar.Close{}))
	var got []string
	for _, o := range outcomes(t, sink.Bytes()) {
		got = append(got, o.CallID)
	}
	want := []string{"call-8"}
	for i := range 20 {
		if i != 7 {
			want = append(want, fmt.Sprintf("call-%d", i+1))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("outcomes of %v, want %v", got, want)
	}
	wantHeadline(t, sink.Bytes(), "Verified (unpinned)")
}

func TestClosedSessionTakesNothing(t *testing.T) {
	var sink aar.MemorySink
	w := mustWriter(t, &sink)
	must(t, w.Close(aar.Close{}))
	before := sink.Bytes()
	_, err := w.Begin("echo", request, aar.Unevaluated(policySet))
	for what, err := range map[string]error{
		"Begin":  err,
		"Record": w.Record("echo", request, aar.Unevaluated(policySet)),
		"Decide": w.Decide("apr", aar.Verdict{Reason: "no"}),
		"Close":  w.Close(aar.Close{}),
	} {
		if !errors.Is(err, aar.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if string(sink.Bytes()) != string(before) {
		t.Error("a line was written after the close line")
	}
}

func faulty(t *testing.T) (*sinktest.Faulty, *sinktest.PowerLoss, *aar.Writer) {
	t.Helper()
	disk := &sinktest.PowerLoss{}
	sink := sinktest.NewFaulty(disk)
	return sink, disk, mustWriter(t, sink)
}

func stored(disk *sinktest.PowerLoss) []byte {
	data, _ := disk.Written()
	return data
}

// An outcome that finds no room after the call has run is kept, and placed
// before the next Line, in the same write.
func TestOutcomeWithoutRoomLandsLater(t *testing.T) {
	sink, disk, w := faulty(t)
	first, second := mustBegin(t, w), mustBegin(t, w)
	sink.FailAppend(syscall.ENOSPC)
	if err := first.End(succeeded()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("End on a full disk: %v", err)
	}
	sink.ShortAppend(17, syscall.ENOSPC)
	if err := second.End(succeeded()); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("End on a full disk: %v", err)
	}
	appends := sink.Count(sinktest.Append)
	third := mustBegin(t, w)
	if n := sink.Count(sinktest.Append) - appends; n != 1 {
		t.Errorf("the kept outcomes and the next line took %d writes", n)
	}
	must(t, third.End(succeeded()))
	must(t, w.Close(aar.Close{}))
	if got := kinds(t, stored(disk)); got != "OIIRRIRC" {
		t.Errorf("lines %s", got)
	}
	if got := outcomes(t, stored(disk)); got[0].CallID != "call-1" || got[1].CallID != "call-2" || got[0].Execution.Status != aar.Success {
		t.Errorf("%+v, %+v", got[0], got[1])
	}
	// The failed writes consumed their seqs: 3, then 4 and 5 with what was kept.
	wantHeadline(t, stored(disk), "Indeterminate: session 0 skips seq 3..6 with the chain intact; a write did not land")
}

// A Session that lacks an outcome has not ended in good order, and does not
// say that it has.
func TestNoCloseLineWithoutItsOutcomes(t *testing.T) {
	for name, end := range map[string]func(*sinktest.Faulty, *aar.Call){
		"ended by its caller": func(sink *sinktest.Faulty, c *aar.Call) {
			sink.FailAppend(syscall.ENOSPC)
			c.End(succeeded())
			sink.FailAppend(syscall.ENOSPC)
		},
		"abandoned at Close": func(sink *sinktest.Faulty, _ *aar.Call) {
			sink.FailAppend(syscall.ENOSPC)
			sink.FailAppend(syscall.ENOSPC)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sink, disk, w := faulty(t)
			end(sink, mustBegin(t, w))
			if err := w.Close(aar.Close{}); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Close: %v", err)
			}
			if sink.Count(sinktest.Close) != 1 {
				t.Error("the sink was not closed")
			}
			if got := kinds(t, stored(disk)); got != "OI" {
				t.Errorf("lines %s", got)
			}
			wantHeadline(t, stored(disk), "Indeterminate: session 0 has no close record and nothing anchors beyond it; 1 call(s) in flight")
		})
	}
}

// Close itself is one more chance for an outcome that found no room.
func TestCloseRetriesOutcomes(t *testing.T) {
	sink, disk, w := faulty(t)
	c := mustBegin(t, w)
	sink.FailAppend(syscall.ENOSPC)
	c.End(succeeded())
	must(t, w.Close(aar.Close{}))
	if got := kinds(t, stored(disk)); got != "OIRC" {
		t.Errorf("lines %s", got)
	}
}

// A request whose intent found no place has no Call, and must not go out; the
// Session goes on.
func TestFullDiskRefusesTheCallAndGoesOn(t *testing.T) {
	sink, disk, w := faulty(t)
	sink.FailAppend(syscall.ENOSPC)
	if c, err := w.Begin("echo", request, aar.Unevaluated(policySet)); !errors.Is(err, syscall.ENOSPC) || c != nil {
		t.Fatalf("Begin on a full disk: %v, %v", c, err)
	}
	sink.ShortAppend(30, syscall.ENOSPC)
	if err := w.Record("echo", request, aar.Unevaluated(policySet)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("Record on a full disk: %v", err)
	}
	must(t, mustBegin(t, w).End(succeeded()))
	must(t, w.Close(aar.Close{}))
	if got := kinds(t, stored(disk)); got != "OIRC" {
		t.Errorf("lines %s", got)
	}
	wantHeadline(t, stored(disk), "Indeterminate: session 0 skips seq 1..4 with the chain intact; a write did not land")
}

// An outcome that is no Line must not stop the Session for good: nothing could
// ever be written behind it.
func TestOutcomeThatCannotBeWritten(t *testing.T) {
	for name, spoil := range map[string]func(*aar.Outcome){
		"text that is not UTF-8":     func(o *aar.Outcome) { o.Policy = aar.Policy{Status: aar.Denied, Reason: "\xff"} },
		"a status that is not known": func(o *aar.Outcome) { o.Policy.Status = "perhaps" },
		"an integer over 2^53-1":     func(o *aar.Outcome) { n := uint64(aar.MaxInteger + 1); o.WallMS = &n },
		"longer than a line may be": func(o *aar.Outcome) {
			o.Policy = aar.Policy{Status: aar.Denied, Reason: strings.Repeat("x", aar.MaxLine)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sink aar.MemorySink
			w := mustWriter(t, &sink)
			known := aar.Unevaluated(policySet)
			spoil(&known)
			if _, err := w.Begin("\xff", request, known); err == nil {
				t.Error("an intent with a tool name that is not UTF-8 was written")
			}
			ended, err := w.Begin("echo", request, aar.Unevaluated(policySet))
			must(t, err)
			_, err = w.Begin("abandoned", request, known)
			must(t, err)
			spoilt := succeeded()
			spoil(&spoilt)
			if _, ok := errors.AsType[*aar.LineError](ended.End(spoilt)); !ok {
				t.Errorf("End: %v", err)
			}
			must(t, mustBegin(t, w).End(succeeded()))
			must(t, w.Close(aar.Close{}))
			if got := kinds(t, sink.Bytes()); got != "OIIRIRRC" {
				t.Errorf("lines %s", got)
			}
			for _, i := range []int{0, 2} {
				o := outcomes(t, sink.Bytes())[i]
				if o.Execution != (aar.Execution{Status: aar.HostDenied, Reason: "the outcome could not be written"}) || o.PolicySetHash != policySet {
					t.Errorf("%+v", o)
				}
			}
			wantHeadline(t, sink.Bytes(), "Verified (unpinned)")
		})
	}
}

// Behind a write that could not be undone, or a sync that failed, nothing is
// known of the file: nothing more is written, and nothing is synced again.
func TestPoisonedSession(t *testing.T) {
	cause := errors.New("the disk is gone")
	for name, poison := range map[string]func(*testing.T, *sinktest.Faulty, *aar.Writer) error{
		"a write that could not be undone": func(_ *testing.T, sink *sinktest.Faulty, w *aar.Writer) error {
			sink.PoisonAppend(30, cause)
			_, err := w.Begin("echo", request, aar.Unevaluated(policySet))
			return err
		},
		"a failed sync": func(t *testing.T, sink *sinktest.Faulty, w *aar.Writer) error {
			sink.FailSync(cause)
			return mustBegin(t, w).Durable()
		},
		"a failed sync of a decision": func(_ *testing.T, sink *sinktest.Faulty, w *aar.Writer) error {
			sink.FailSync(cause)
			return w.Decide("apr", aar.Verdict{Reason: "no"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			sink, disk, w := faulty(t)
			before := mustBegin(t, w)
			must(t, before.Durable())
			if err := poison(t, sink, w); !errors.Is(err, aar.ErrPoisoned) || !errors.Is(err, cause) {
				t.Fatalf("the poisoning call returned %v", err)
			}
			held, appends, syncs := stored(disk), sink.Count(sinktest.Append), sink.Count(sinktest.Sync)
			_, begin := w.Begin("echo", request, aar.Unevaluated(policySet))
			for what, err := range map[string]error{
				"Begin":  begin,
				"End":    before.End(succeeded()),
				"Record": w.Record("echo", request, aar.Unevaluated(policySet)),
				"Decide": w.Decide("apr-2", aar.Verdict{Reason: "no"}),
				"Close":  w.Close(aar.Close{}),
			} {
				if !errors.Is(err, aar.ErrPoisoned) || !errors.Is(err, cause) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := before.Durable(); err != nil {
				t.Errorf("an intent that was synced before is so still: %v", err)
			}
			if sink.Count(sinktest.Append) != appends || string(stored(disk)) != string(held) {
				t.Error("a line was written behind the unknown")
			}
			if sink.Count(sinktest.Sync) != syncs {
				t.Error("a failed sync was tried again")
			}
			if sink.Count(sinktest.Close) != 1 {
				t.Error("the sink was not closed")
			}
			if report := verify(t, held); report.Verdict != aar.Indeterminate {
				t.Error(report.Headline())
			}
		})
	}
}

func TestOpenLineMustBeDurable(t *testing.T) {
	sink := sinktest.NewFaulty(&sinktest.PowerLoss{})
	sink.FailSync(syscall.EIO)
	if w, err := aar.NewWriter(sink, sinktest.Key()); w != nil || !errors.Is(err, aar.ErrPoisoned) || !errors.Is(err, syscall.EIO) {
		t.Errorf("NewWriter: %v, %v", w, err)
	}
	sink.FailAppend(syscall.ENOSPC)
	if w, err := aar.NewWriter(sink, sinktest.Key()); w != nil || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("NewWriter: %v, %v", w, err)
	}
}

// The sync of an intent returns before its request is forwarded. Its log is
// what the tests of a relay look at.
func TestIntentIsDurableBeforeTheRequestGoesOut(t *testing.T) {
	sink, _, w := faulty(t)
	skip := len(sink.Events())
	c := mustBegin(t, w)
	must(t, c.Durable())
	sink.Note("forwarded")
	must(t, c.End(succeeded()))
	var ops []sinktest.Op
	for _, e := range sink.Events()[skip:] {
		ops = append(ops, e.Op)
	}
	want := []sinktest.Op{sinktest.Append, sinktest.SyncStart, sinktest.Sync, sinktest.Note, sinktest.Append}
	if !slices.Equal(ops[:min(len(ops), len(want))], want) {
		t.Errorf("%v, want %v", ops, want)
	}
	must(t, w.Close(aar.Close{}))
}

// While one sync runs, everybody else waits for the next: it serves them all.
func TestOneSyncServesAllThatWait(t *testing.T) {
	sink, _, w := faulty(t)
	syncs := sink.Count(sinktest.Sync)
	release := sink.HoldSync()
	defer release()
	var group sync.WaitGroup
	durable := func() { must(t, mustBegin(t, w).Durable()) }
	group.Go(durable)
	must(t, sink.Await(t.Context(), func(events []sinktest.Event) bool { return events[len(events)-1].Op == sinktest.SyncStart }))
	appends := sink.Count(sinktest.Append)
	for range 63 {
		group.Go(durable)
	}
	must(t, sink.Await(t.Context(), func(events []sinktest.Event) bool {
		n := 0
		for _, e := range events {
			if e.Op == sinktest.Append {
				n++
			}
		}
		return n == appends+63
	}))
	release()
	group.Wait()
	if got := sink.Count(sinktest.Sync) - syncs; got != 2 {
		t.Errorf("64 calls took %d syncs, want 2", got)
	}
	must(t, w.Close(aar.Close{}))
}

// The same under load: with a disk whose sync takes 4 ms, 64 Calls in flight
// share their syncs. Time in the bubble is not real time.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, disk, w := faulty(t)
		sink.DelaySync(4 * time.Millisecond)
		before, start := sink.Count(sinktest.Sync), time.Now()
		const inFlight, rounds = 64, 8
		var group sync.WaitGroup
		for range inFlight {
			group.Go(func() {
				for range rounds {
					c := mustBegin(t, w)
					must(t, c.Durable())
					if data, synced := disk.Written(); !bytes.Contains(data[:synced], []byte(`"`+c.ID()+`"`)) {
						t.Errorf("the intent of %s is not durable", c.ID())
					}
					must(t, c.End(succeeded()))
				}
			})
		}
		group.Wait()
		// A Call waits for at most the rest of a sync that does not cover it and a whole one.
		if syncs := sink.Count(sinktest.Sync) - before; syncs > 2*rounds {
			t.Errorf("%d calls took %d syncs, %s", inFlight*rounds, syncs, time.Since(start))
		}
		must(t, w.Close(aar.Close{}))
	})
}

// An outcome starts no sync of its own, but is not left to chance: 20 ms later
// it is durable, with no other Line to carry it.
func TestOutcomeAloneIsSyncedAfter20ms(t *testing.T) {
	for name, record := range map[string]func(*testing.T, *aar.Writer){
		"End":    func(t *testing.T, w *aar.Writer) { must(t, mustBegin(t, w).End(succeeded())) },
		"Record": func(t *testing.T, w *aar.Writer) { must(t, w.Record("echo", request, succeeded())) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink, disk, w := faulty(t)
				before := sink.Count(sinktest.SyncStart)
				record(t, w)
				time.Sleep(20*time.Millisecond - 1)
				synctest.Wait()
				if n := sink.Count(sinktest.SyncStart); n != before {
					t.Errorf("%d syncs before 20 ms", n-before)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if data, synced := disk.Written(); synced != len(data) || sink.Count(sinktest.Sync) != before+1 {
					t.Errorf("after 20 ms %d of %d bytes are synced, by %d syncs", synced, len(data), sink.Count(sinktest.Sync)-before)
				}
				// With nothing left to sync the disk is left alone.
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := sink.Count(sinktest.SyncStart); n != before+1 {
					t.Errorf("%d syncs with nothing to sync", n-before-1)
				}
				must(t, w.Close(aar.Close{}))
			})
		})
	}
}

// However ends and syncs meet, no outcome stays behind unsynced.
func TestNoOutcomeStaysUnsynced(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			sink, disk, w := faulty(t)
			sink.DelaySync(10 * time.Millisecond)
			var group sync.WaitGroup
			for g := range uint64(8) {
				random := rand.New(rand.NewPCG(seed, g))
				group.Go(func() {
					for range 20 {
						c := mustBegin(t, w)
						if random.IntN(3) == 0 {
							must(t, c.Durable())
						}
						// Near a multiple of the delay ends and timers meet.
						time.Sleep(time.Duration(random.IntN(3)) * 10 * time.Millisecond)
						must(t, c.End(succeeded()))
					}
				})
			}
			group.Wait()
			time.Sleep(20*time.Millisecond + 2*10*time.Millisecond) // and the sync under way, and the next
			synctest.Wait()
			if data, synced := disk.Written(); synced != len(data) {
				t.Errorf("seed %d: %d bytes stay unsynced", seed, len(data)-synced)
			}
			must(t, w.Close(aar.Close{}))
		})
	}
}

// A refusal is over before it began: both its Lines go in one write, and
// nobody waits for a disk.
func TestRefusalIsOneWrite(t *testing.T) {
	sink, disk, w := faulty(t)
	release := sink.HoldSync() // whoever waited for a sync would wait for ever
	appends := sink.Count(sinktest.Append)
	must(t, w.Record("echo", request, aar.Unevaluated(policySet)))
	if n := sink.Count(sinktest.Append) - appends; n != 1 {
		t.Errorf("%d writes", n)
	}
	release()
	must(t, w.Close(aar.Close{}))
	if got := kinds(t, stored(disk)); got != "OIRC" {
		t.Errorf("lines %s", got)
	}
	if data, synced := disk.Written(); synced != len(data) {
		t.Error("Close left bytes unsynced")
	}
}

// What a Durable sink keeps is a record that somebody will pin: the key that
// everybody has must not sign it.
func TestDevKeyOnDurableSink(t *testing.T) {
	const want = "a durable audit sink needs a provisioned signing key; the insecure dev key may only sign a volatile sink (generate one with `aegis keygen --out <PATH>`)"
	for name, key := range map[string]*aar.SigningKey{
		"DevKey":                aar.DevKey(),
		"its seed under a file": aar.NewSigningKey([32]byte([]byte("aegis-insecure-dev-key-not-real!"))),
	} {
		disk := &sinktest.PowerLoss{}
		if w, err := aar.NewWriter(disk, key); w != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", name, w, err)
		}
		if len(stored(disk)) > 0 {
			t.Errorf("%s: a line was written", name)
		}
		if _, err := aar.NewWriter(&aar.MemorySink{}, key); err != nil {
			t.Errorf("%s on a volatile sink: %v", name, err)
		}
	}
}

// A server chooses its tools' names; the record's lines stay short all the same.
func TestLongToolNames(t *testing.T) {
	long := strings.Repeat("x", 1024)
	split := strings.Repeat("x", 254) + "\U0001f600" + strings.Repeat("x", 1024) // a rune across byte 256
	for _, tc := range []struct{ name, want string }{
		{"", ""},
		{long, long},
		{long + "y", fmt.Sprintf("%s#sha256:%x", long[:256], sha256.Sum256([]byte(long+"y")))},
		{split, fmt.Sprintf("%s#sha256:%x", split[:254], sha256.Sum256([]byte(split)))},
	} {
		var sink aar.MemorySink
		w := mustWriter(t, &sink)
		must(t, w.Record(tc.name, request, succeeded()))
		must(t, w.Close(aar.Close{}))
		got, outcome := lines(t, sink.Bytes())[1].(*aar.Intent).ToolID, outcomes(t, sink.Bytes())[0].ToolID
		if got != tc.want || outcome != tc.want {
			t.Errorf("%d bytes: recorded as %q and %q", len(tc.name), got, outcome)
		}
	}
}

// The optional members of the close Line are the caller's, its place is not.
func TestCloseMembers(t *testing.T) {
	var sink aar.MemorySink
	w := mustWriter(t, &sink)
	code := uint64(3)
	must(t, w.Close(aar.Close{
		Link:        aar.Link{Seq: 99, LineType: aar.TypeOpen},
		Confinement: &aar.Confinement{Level: "partial"},
		Child:       &aar.ChildExit{ExitCode: &code, Stage: "run"},
	}))
	end := lines(t, sink.Bytes())[1].(*aar.Close)
	if end.Seq != 1 || end.Confinement.Level != "partial" || *end.Child.ExitCode != 3 || end.Child.Stage != "run" {
		t.Errorf("%+v", end)
	}
	wantHeadline(t, sink.Bytes(), "Verified (unpinned)")
}
