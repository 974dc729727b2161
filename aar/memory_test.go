package aar

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
)

// recordReader makes a record of a size while it is read: one open line, then
// calls without end, an intent and an outcome each. One outcome in signOne is
// signed, which takes most of the time; the others are lines of an unknown type
// that carries no signature, as long as an outcome.
type recordReader struct {
	c       chain
	left    int64
	calls   int
	signOne int
	pad     int // bytes that make a line as long as our own, or longer
}

func newRecordReader(tb testing.TB, size int64, signOne, pad int) *recordReader {
	r := &recordReader{c: chain{tb: tb, key: testKey(1)}, left: size, signOne: signOne, pad: pad}
	r.c.open()
	return r
}

func (r *recordReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	for len(r.c.file) < len(p) {
		r.calls++
		c := &r.c
		c.canonicalRow(fmt.Appendf(nil, `{"call_id":"call-%d","line_type":"intent","prev_hash":"%s","request_digest":"%s","schema_version":2,"seq":%d,"tool_id":"read_file"}`,
			r.calls, c.tail, Genesis, c.seq))
		pad := bytes.Repeat([]byte{'x'}, r.pad)
		if r.calls%r.signOne == 0 {
			c.signed("outcome", members{"call_id": fmt.Sprintf("call-%d", r.calls), "tool_id": string(pad)})
		} else {
			c.canonicalRow(fmt.Appendf(nil, `{"call_id":"call-%d","line_type":"outgoing","prev_hash":"%s","schema_version":2,"seq":%d,"tool_id":"%s"}`,
				r.calls, c.tail, c.seq, pad))
		}
	}
	n := copy(p, r.c.file)
	r.c.file = r.c.file[:copy(r.c.file, r.c.file[n:])]
	r.left -= int64(n)
	return n, nil
}

// liveHeap is what is reachable, and not what the collector has yet to find.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Verify streams: what it holds does not grow with the file. 64 MiB are enough
// to tell, since the whole text of a file would be far over the bound.
func TestVerifyHoldsNoFile(t *testing.T) {
	const size, bound = 64 << 20, 16 << 20
	before := liveHeap()
	n, peak := 0, uint64(0)
	in := tapped{newRecordReader(t, size, 100, 3000).Read, func() {
		if n++; n%64 == 0 {
			peak = max(peak, liveHeap())
		}
	}}
	report, err := Verify(t.Context(), in, VerifyOptions{})
	if err != nil || report.Verdict != Indeterminate {
		t.Fatal(report, err)
	}
	if report.Lines < 30_000 {
		t.Errorf("only %d lines were verified", report.Lines)
	}
	if peak > before+bound {
		t.Errorf("%d KiB over what was held before", (peak-before)>>10)
	}
	t.Logf("%d lines, peak %d KiB over what was held before", report.Lines, (max(peak, before)-before)>>10)
}

// BenchmarkVerifyGiB verifies 1 GiB of lines like our own, every outcome
// signed, made while they are read. peak-MiB is what the process has of the
// system meanwhile, generator included.
func BenchmarkVerifyGiB(b *testing.B) {
	if testing.Short() {
		b.Skip("takes minutes")
	}
	b.SetBytes(1 << 30)
	var peak uint64
	for b.Loop() {
		n := 0
		in := tapped{newRecordReader(b, 1<<30, 1, 500).Read, func() {
			if n++; n%512 == 0 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.Sys-m.HeapReleased)
			}
		}}
		if _, err := Verify(b.Context(), in, VerifyOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
}

type tapped struct {
	read func([]byte) (int, error)
	tap  func()
}

func (r tapped) Read(p []byte) (int, error) { r.tap(); return r.read(p) }
