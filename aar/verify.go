package aar

import (
	"context"
	"crypto/sha256"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// VerifyOptions are what a caller brings to a verification from outside the file.
type VerifyOptions struct {
	// Pinned says that Trust is the slice of keys the caller accepts. An empty
	// slice is then a pin that nothing satisfies.
	Pinned bool
	Trust  []PublicKey
	// Workers is how many lines are checked at once; 0 for one a processor.
	Workers int
}

// Verify walks the record in r once, in order, and judges it by the three-state
// model of the specification, section 8. The same bytes give the same report.
//
// An error means that the record could not be read (or ctx ended), and there
// is no report: a read error, a line over [MaxLine] or a line that is not
// UTF-8. Memory is bounded by a few batches of lines plus 16 bytes for each
// decision in the file, 64 for each key and [MaxListed] entries, each of a bounded
// size, for each list of the report.
func Verify(ctx context.Context, r io.Reader, opts VerifyOptions) (*Report, error) {
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	w := walk{opts: opts, report: &Report{Pinned: opts.Pinned}, decided: map[[16]byte]struct{}{}, keys: map[KeyID]struct{}{}, openCalls: map[string]Position{}}
	rows := newRowReader(r)
	for batch, err := range batches(ctx, rows) {
		if err != nil {
			return nil, err
		}
		if w.tampered {
			continue // the verdict stands; the rest must still be readable
		}
		parallel(workers, len(batch), func(i int) { batch[i].parse() })
		w.assignKeys(batch)
		parallel(workers, len(batch), func(i int) { batch[i].checkSignature() })
		for i := range batch {
			if w.tampered || w.ended {
				break
			}
			w.line(&batch[i])
		}
	}
	return w.finish(), nil
}

// A batch is read ahead while the one before it is checked.
const (
	batchLines = 512
	batchBytes = 4 << 20
)

// candidate is one row on its way through the checks.
type candidate struct {
	text   []byte
	number uint64 // from 1, blank rows not counted
	last   bool   // no row follows

	err       error // *SyntaxError or *ValueError; the rest is then empty
	hash      LineHash
	lineType  field
	seq       uint64
	hasSeq    bool
	prevHash  field
	keyID     field
	signature field
	signed    bool // has a member called signature, whatever it holds
	input     []byte

	callID, approvalID, publicKey, prevTail field

	key    *verifier // of the Session the line stands in
	sigErr error
}

// field is a member that must be a string: its text, if it is one.
type field struct {
	text string
	ok   bool
}

// batches yields the rows in batches, read by a goroutine of its own.
func batches(ctx context.Context, rows *rowReader) func(func([]candidate, error) bool) {
	type result struct {
		batch []candidate
		err   error
	}
	return func(yield func([]candidate, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		ahead := make(chan result, 1)
		var reader sync.WaitGroup
		reader.Go(func() {
			defer close(ahead)
			for next := (candidate{}); ; {
				batch, carry, err := readBatch(rows, next)
				next = carry
				select {
				case ahead <- result{batch, err}:
				case <-ctx.Done():
					return
				}
				if err != nil || next.text == nil {
					return
				}
			}
		})
		defer reader.Wait()
		defer stop()
		for {
			res, ok := <-ahead
			if err := ctx.Err(); err != nil { // the reader ends with ctx, too, and what it gave is not all
				yield(nil, err)
				return
			}
			if !ok || !yield(res.batch, res.err) || res.err != nil {
				return
			}
		}
	}
}

// readBatch reads rows behind first. One row is read ahead, so that the last of
// the file is known as such; it is returned as carry, empty at the end.
func readBatch(rows *rowReader, first candidate) (batch []candidate, carry candidate, err error) {
	size := len(first.text)
	if first.text != nil {
		batch = append(batch, first)
	}
	for {
		row, err := rows.next()
		if err == io.EOF {
			if len(batch) > 0 {
				batch[len(batch)-1].last = true
			}
			return batch, candidate{}, nil
		}
		if err != nil {
			return nil, candidate{}, err
		}
		c := candidate{text: slices.Clone(row.text), number: rows.rows}
		if len(batch) == batchLines || size > batchBytes {
			return batch, c, nil
		}
		batch = append(batch, c)
		size += len(row.text)
	}
}

// parallel calls do for every i below n, on several goroutines.
func parallel(workers, n int, do func(i int)) {
	const stride = 8
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, (n+stride-1)/stride) {
		group.Go(func() {
			for {
				start := int(next.Add(stride)) - stride
				if start >= n {
					return
				}
				for i := start; i < min(start+stride, n); i++ {
					do(i)
				}
			}
		})
	}
	group.Wait()
}

// parse reads all that does not depend on the lines before.
func (c *candidate) parse() {
	canon := canonicalizers.Get().(*canonicalizer)
	defer canonicalizers.Put(canon)
	if c.err = canon.run(c.text); c.err != nil {
		return
	}
	c.hash = sha256.Sum256(canon.out)
	c.lineType = stringField(canon, "line_type")
	c.prevHash = stringField(canon, "prev_hash")
	if raw, ok := canon.lookup("seq"); ok {
		var err error
		c.seq, err = strconv.ParseUint(string(raw), 10, 64)
		c.hasSeq = err == nil
	}
	c.keyID = stringField(canon, "key_id")
	c.signature = stringField(canon, "signature")
	_, c.signed = canon.lookup("signature")
	switch LineType(c.lineType.text) {
	case TypeOpen:
		c.publicKey = stringField(canon, "public_key")
		c.prevTail = stringField(canon, "prev_session_tail")
	case TypeIntent, TypeOutcome:
		c.callID = stringField(canon, "call_id")
	case TypeDecision:
		c.approvalID = stringField(canon, "approval_id")
	}
	if c.signed {
		c.input = canon.appendWithout(c.text[:0], "signature")
	}
}

func stringField(c *canonicalizer, name string) field {
	raw, ok := c.lookup(name)
	if !ok || raw[0] != '"' {
		return field{}
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return field{string(text), err == nil}
}

// needsSignature: an intent is never signed, and whether a type this version
// does not know must be is unknowable, so that it is judged on what it carries.
func (c *candidate) needsSignature() bool {
	switch LineType(c.lineType.text) {
	case TypeIntent:
		return false
	case TypeOpen, TypeOutcome, TypeDecision, TypeClose, TypeCheckpoint:
		return true
	}
	return c.signed
}

// assignKeys tells every line the key of the Session it stands in.
func (w *walk) assignKeys(batch []candidate) {
	for i := range batch {
		c := &batch[i]
		if LineType(c.lineType.text) == TypeOpen {
			public, err := ParsePublicKey(c.publicKey.text)
			if err != nil {
				w.key = nil
			} else if w.key == nil || w.key.public != public {
				w.key = newVerifier(public)
			}
		}
		c.key = w.key
	}
}

// checkSignature judges the signature against the Session's key, in the order
// of the specification: presence, key_id, the strict ed25519 rule.
func (c *candidate) checkSignature() {
	if c.err != nil || !c.needsSignature() || c.key == nil {
		return
	}
	var signature Signature
	switch {
	case !c.signature.ok || !c.keyID.ok:
		c.sigErr = errNoSignature
	case c.keyID.text != c.key.id:
		c.sigErr = &wrongKeyError{found: c.keyID.text, want: c.key.id}
	case ParseHex(signature[:], c.signature.text) != nil:
		c.sigErr = errBadSignature
	default:
		c.sigErr = c.key.verify(c.input, &signature)
	}
}
