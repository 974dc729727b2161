package aar

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// benchRecord is a closed Session of n Calls like those a relay records: each
// an intent and an outcome with its grant and digests.
func benchRecord(tb testing.TB, n int) []byte {
	tb.Helper()
	var sink MemorySink
	w, err := NewWriter(&sink, DevKey())
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n {
		c, err := w.Begin("read_file", DigestRequest(fmt.Append(nil, i)), Unevaluated(PolicySetHash{}))
		if err != nil {
			tb.Fatal(err)
		}
		if err := c.End(relayedOutcome(c)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(Close{}); err != nil {
		tb.Fatal(err)
	}
	return sink.Bytes()
}

func relayedOutcome(c *Call) Outcome {
	wall, response := uint64(12), DigestResponse([]byte("{}"))
	grant := "wrap-passthrough-" + c.ID()
	return Outcome{
		Policy:     Policy{Status: Allowed},
		Capability: Capability{Status: Granted, Grant: Grant{GrantID: grant, ToolID: "read_file"}},
		Execution:  Execution{Status: Success},
		GrantID:    grant, ResponseDigest: &response, WallMS: &wall,
	}
}

// BenchmarkVerify reports, from one run, what Verify costs beside the least
// that any verifier must do, ed25519.Verify over the same signatures on as many
// goroutines: of-bare is the part of the bare loop's speed that is left.
func BenchmarkVerify(b *testing.B) {
	file := benchRecord(b, 4000)
	type check struct{ input, signature []byte }
	var checks []check
	for row := range bytes.Lines(file) {
		c := candidate{text: bytes.Clone(row)}
		c.parse()
		if c.signed {
			var s Signature
			if err := ParseHex(s[:], c.signature.text); err != nil {
				b.Fatal(err)
			}
			checks = append(checks, check{c.input, s[:]})
		}
	}
	public := DevKey().Public()
	var bare, verify time.Duration
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		parallel(runtime.GOMAXPROCS(0), len(checks), func(i int) {
			if !ed25519.Verify(public[:], checks[i].input, checks[i].signature) {
				b.Error("a signature does not hold")
			}
		})
		middle := time.Now()
		report, err := Verify(context.Background(), bytes.NewReader(file), VerifyOptions{})
		if err != nil || report.Verdict != Verified {
			b.Fatal(report, err)
		}
		bare, verify = bare+middle.Sub(start), verify+time.Since(middle)
	}
	b.ReportMetric(float64(bare)/float64(verify), "of-bare")
	b.ReportMetric(float64(verify.Nanoseconds())/float64(b.N*bytes.Count(file, []byte("\n"))), "ns/line")
}

// BenchmarkWriter writes one Call, its two Lines, to a sink that costs nothing.
func BenchmarkWriter(b *testing.B) {
	w, err := NewWriter(discard{}, DevKey())
	if err != nil {
		b.Fatal(err)
	}
	request, known := DigestRequest([]byte("{}")), Unevaluated(PolicySetHash{})
	b.ReportAllocs()
	for b.Loop() {
		c, err := w.Begin("read_file", request, known)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.End(relayedOutcome(c)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWriterParallel has many goroutines share the one lock.
func BenchmarkWriterParallel(b *testing.B) {
	w, err := NewWriter(discard{}, DevKey())
	if err != nil {
		b.Fatal(err)
	}
	request, known := DigestRequest([]byte("{}")), Unevaluated(PolicySetHash{})
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c, err := w.Begin("read_file", request, known)
			if err != nil {
				b.Error(err)
				return
			}
			if err := c.End(relayedOutcome(c)); err != nil {
				b.Error(err)
			}
		}
	})
}

// discard is a volatile sink that keeps nothing.
type discard struct{}

func (discard) Durability() Durability { return Volatile }
func (discard) Tail() *LineHash        { return nil }
func (discard) Append([]byte) error    { return nil }
func (discard) Sync() error            { return nil }
func (discard) Close() error           { return nil }
