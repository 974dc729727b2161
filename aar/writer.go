package aar

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Writer appends the Lines of one Session to a [Sink]. It is safe for use by
// many goroutines: position, hash, signature and write of a Line happen under
// one lock, so that the Chain cannot fork.
//
// What is durable when, on a [Durable] sink:
//
//   - the open Line, when NewWriter returns;
//   - an intent, when [Call.Durable] returns nil, and it must be asked before
//     the request is forwarded;
//   - an outcome is in the kernel's hands when [Call.End] returns, so that a
//     killed process does not lose it. It starts no sync of its own: it rides on
//     the next one, which comes after outcomeSyncDelay at the latest;
//   - everything, when Close returns nil.
//
// Syncs run outside the lock and one at a time; all that was appended before
// one starts is covered by it, however many Calls wait.
type Writer struct {
	key  *SigningKey
	sink Sink

	mu       sync.Mutex // held over assign, hash, sign and write
	seq      uint64
	tail     LineHash
	calls    uint64
	open     list.List  // of *Call: begun and not ended, in call order
	unplaced []*Outcome // outcomes that could not be written; retried before the next Line
	closed   bool
	appends  uint64 // successful Appends

	syncMu   sync.Mutex
	syncDone *sync.Cond
	syncing  bool
	synced   uint64 // the Appends that a completed Sync covers
	poison   error  // no Line may follow
	timer    *time.Timer
}

// outcomeSyncDelay bounds how long an outcome stays unsynced when no other
// Line brings a sync along.
const outcomeSyncDelay = 20 * time.Millisecond

// ErrClosed says that the Session has its close Line.
var ErrClosed = errors.New("the session is closed")

// NewWriter opens a Session: it writes the open Line and syncs it. A [Durable]
// sink refuses the [DevKey].
func NewWriter(sink Sink, key *SigningKey) (*Writer, error) {
	if key.dev && sink.Durability() == Durable {
		return nil, errors.New("a durable audit sink needs a provisioned signing key; the insecure dev key may only sign a volatile sink (generate one with `aegis keygen --out <PATH>`)")
	}
	w := &Writer{key: key, sink: sink}
	w.syncDone = sync.NewCond(&w.syncMu)
	w.mu.Lock()
	at, err := w.append(&Open{PublicKey: key.public, PrevSessionTail: sink.Tail()})
	w.mu.Unlock()
	if err == nil {
		err = w.syncTo(at)
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// append places lines behind the Chain in one write and returns the number of
// that write, for syncTo. The caller holds mu. Outcomes that found no place
// before go first. A failed write consumes the seqs: verify will later say,
// honestly, that they are missing.
func (w *Writer) append(lines ...Line) (uint64, error) {
	if err := w.poisoned(); err != nil {
		return 0, err
	}
	if w.closed {
		return 0, ErrClosed
	}
	retried := len(w.unplaced)
	if retried > 0 {
		all := make([]Line, 0, retried+len(lines))
		for _, o := range w.unplaced {
			all = append(all, o)
		}
		lines = append(all, lines...)
	}
	var text []byte
	seq, tail := w.seq, w.tail
	for _, line := range lines {
		*line.chain() = Link{SchemaVersion: SchemaVersion, LineType: line.Type(), Seq: seq, PrevHash: tail}
		start := len(text)
		var err error
		if text, err = w.encode(text, line); err != nil {
			return 0, err
		}
		seq++
		tail = sha256.Sum256(text[start:])
		text = append(text, '\n')
	}
	w.seq = seq
	if err := w.sink.Append(text); err != nil {
		if errors.Is(err, ErrPoisoned) {
			w.setPoison(err)
		}
		return 0, err
	}
	w.tail = tail
	w.unplaced = slices.Delete(w.unplaced, 0, retried)
	w.appends++
	return w.appends, nil
}

// maxContent leaves a signature its room in [MaxLine].
const maxContent = MaxLine - 1024

// encode appends the canonical form of line to dst, signed if it is of the
// signed set. A *[LineError] says that the line can never be written.
func (w *Writer) encode(dst []byte, line Line) ([]byte, error) {
	signed, isSigned := line.(Signed)
	if isSigned {
		*signed.seal() = Seal{KeyID: &w.key.id}
	}
	c := canonicalizers.Get().(*canonicalizer)
	defer canonicalizers.Put(c)
	c.draft.Reset()
	err := json.MarshalWrite(&c.draft, line)
	if err == nil && c.draft.Len() > maxContent {
		err = fmt.Errorf("longer than %d bytes", maxContent)
	}
	if err == nil {
		err = c.run(c.draft.Bytes())
	}
	if err != nil {
		return nil, &LineError{Type: line.Type(), Reason: "cannot be written", Err: err}
	}
	if !isSigned {
		return append(dst, c.out...), nil
	}
	signed.seal().Signature = w.key.sign(c.out)
	return c.appendWith(dst, "signature", *signed.seal().Signature), nil
}

// syncTo returns once write number at is durable. Whoever finds no sync
// running runs the next one for all that wait.
func (w *Writer) syncTo(at uint64) error {
	if w.sink.Durability() == Volatile {
		return nil
	}
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	for w.synced < at && w.poison == nil {
		if w.syncing {
			w.syncDone.Wait()
			continue
		}
		w.syncing = true
		w.syncMu.Unlock()
		w.mu.Lock()
		covers := w.appends
		w.mu.Unlock()
		err := w.sink.Sync()
		w.syncMu.Lock()
		w.syncing = false
		if err == nil {
			w.synced = covers
		} else if w.poison == nil {
			// The kernel has dropped the pages: a second sync would succeed and lie.
			w.poison = fmt.Errorf("%w: sync failed: %w", ErrPoisoned, err)
		}
		w.syncDone.Broadcast()
	}
	if w.synced >= at {
		return nil
	}
	return w.poison
}

// syncSoon makes the last write durable within outcomeSyncDelay.
func (w *Writer) syncSoon() {
	if w.sink.Durability() == Volatile {
		return
	}
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(outcomeSyncDelay, w.ride)
	}
}

// ride is the sync of last resort for what no other sync took along.
func (w *Writer) ride() {
	// The timer goes first: an outcome appended from here on starts another.
	w.syncMu.Lock()
	w.timer = nil
	w.syncMu.Unlock()
	w.mu.Lock()
	at, closed := w.appends, w.closed
	w.mu.Unlock()
	if !closed {
		w.syncTo(at) // a failure poisons the Session: the next Line reports it
	}
}

func (w *Writer) poisoned() error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	return w.poison
}

func (w *Writer) setPoison(err error) {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	if w.poison == nil {
		w.poison = err
	}
}

// Begin writes the intent of a Call. The Call must end in [Call.End]; defer
// [Call.Release] to have it end on every path. known is what the stations have
// said so far (see [Unevaluated]); it is what the record will say if nothing
// ends the Call. If Begin fails there is no Call and the request must not be
// forwarded.
func (w *Writer) Begin(toolID string, request RequestDigest, known Outcome) (*Call, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.newCall(toolID, request)
	c.known = known
	at, err := w.append(&c.intent)
	if err != nil {
		return nil, err
	}
	c.at = at
	c.place = w.open.PushBack(c)
	return c, nil
}

// Record writes the intent and the outcome of a Call that is over before it
// began, such as a refused one, in one write that waits for no sync. It takes
// of outcome what [Call.End] takes.
func (w *Writer) Record(toolID string, request RequestDigest, outcome Outcome) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.newCall(toolID, request)
	if _, err := w.append(&c.intent, c.outcome(outcome)); err != nil {
		return err
	}
	w.syncSoon()
	return nil
}

// Decide writes a human's verdict on a parked Call and syncs it.
func (w *Writer) Decide(approvalID string, verdict Verdict) error {
	w.mu.Lock()
	at, err := w.append(&Decision{ApprovalID: approvalID, Verdict: verdict})
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.syncTo(at)
}

func (w *Writer) newCall(toolID string, request RequestDigest) *Call {
	w.calls++
	return &Call{w: w, intent: Intent{
		CallID:        "call-" + strconv.FormatUint(w.calls, 10),
		ToolID:        BoundedName(toolID),
		RequestDigest: request,
	}}
}

// Close ends every Call that is still open as abandoned, writes the close
// Line, syncs and closes the sink. The close Line is left out if an outcome
// never found its place: a Session that lacks one has not ended in good order.
// end gives the optional members of the close Line.
func (w *Writer) Close(end Close) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return ErrClosed
	}
	var errs []error
	for w.open.Len() > 0 {
		c := w.open.Front().Value.(*Call)
		c.end(c.abandoned()) // what fails is tried once more below
	}
	if len(w.unplaced) > 0 {
		if _, err := w.append(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(w.unplaced) == 0 {
		if _, err := w.append(&end); err != nil {
			errs = append(errs, err)
		}
	}
	at := w.appends
	w.closed = true
	w.mu.Unlock()
	if err := w.syncTo(at); err != nil && !slices.ContainsFunc(errs, func(e error) bool { return errors.Is(e, ErrPoisoned) }) {
		errs = append(errs, err)
	}
	w.syncMu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	for w.syncing {
		w.syncDone.Wait()
	}
	w.syncMu.Unlock()
	return errors.Join(append(errs, w.sink.Close())...)
}
