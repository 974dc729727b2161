package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aegis-aar/aegis/aar"
)

// check is one signature with its message.
type check struct{ message, signature []byte }

// verifyTurns is how often the two take turns in a round.
const verifyTurns = 8

// verifyRound is the sum of a round. Times are in milliseconds.
type verifyRound struct{ bare, verify, mib float64 }

// verifyPairs times, in turn, Verify over a record of size bytes in memory and
// the least that any verifier must do, ed25519.Verify over the same messages on
// as many goroutines.
func verifyPairs(ctx context.Context, rounds int, size int64) ([]verifyRound, error) {
	var record bytes.Buffer
	public, err := generate(&record, size)
	if err != nil {
		return nil, err
	}
	checks := signatures(record.Bytes())
	opts := aar.VerifyOptions{Pinned: true, Trust: []aar.PublicKey{public}}
	all := make([]verifyRound, rounds)
	for i := range all {
		for range verifyTurns {
			begin := time.Now()
			if failed := bare(public, checks); failed > 0 {
				return nil, fmt.Errorf("%d signatures do not hold", failed)
			}
			middle := time.Now()
			report, err := aar.Verify(ctx, bytes.NewReader(record.Bytes()), opts)
			if err != nil {
				return nil, err
			}
			if report.Verdict != aar.Verified {
				return nil, fmt.Errorf("our own record is %v: %v", report.Verdict, report.Reason)
			}
			all[i].bare += ms(middle.Sub(begin))
			all[i].verify += ms(time.Since(middle))
			all[i].mib += float64(record.Len()) / (1 << 20)
		}
	}
	return all, nil
}

// bare verifies all checks on one goroutine a processor.
func bare(public aar.PublicKey, checks []check) (failed int64) {
	var next, bad atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(len(checks)) {
					return
				}
				if !ed25519.Verify(public[:], checks[i].message, checks[i].signature) {
					bad.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return bad.Load()
}

// signatures takes the signed lines of a record apart. What the Writer writes
// is canonical, so the message is the line without that member.
func signatures(record []byte) []check {
	const hexLen = 2 * ed25519.SignatureSize
	var checks []check
	for line := range bytes.Lines(record) {
		before, after, signed := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(`,"signature":"`))
		if !signed {
			continue
		}
		signature, err := hex.DecodeString(string(after[:hexLen]))
		if err != nil {
			continue
		}
		checks = append(checks, check{append(bytes.Clone(before), after[hexLen+1:]...), signature})
	}
	return checks
}

// verifyRun is one `aegis verify` of a whole file.
type verifyRun struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	PeakMiB float64 `json:"peak_mib"` // 0: not measured
}

// verifyFile makes a record of about size bytes at path and has it verified.
func verifyFile(ctx context.Context, aegis, path string, size int64) (verifyRun, error) {
	public, err := generateFile(path, size)
	if err != nil {
		return verifyRun{}, err
	}
	defer os.Remove(path)
	info, err := os.Stat(path)
	if err != nil {
		return verifyRun{}, err
	}
	run := verifyRun{Bytes: info.Size()}
	cmd := exec.CommandContext(ctx, aegis, "verify", "--key", public.String(), path)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return verifyRun{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			run.Seconds = time.Since(begin).Seconds()
			if err != nil {
				err = fmt.Errorf("aegis verify: %w\n%s", err, out.Bytes())
			}
			return run, err
		case <-time.After(10 * time.Millisecond):
			_, peak := memory(cmd.Process.Pid)
			run.PeakMiB = max(run.PeakMiB, peak)
		}
	}
}

func generateFile(path string, size int64) (aar.PublicKey, error) {
	file, err := os.Create(path)
	if err != nil {
		return aar.PublicKey{}, err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	public, err := generate(out, size)
	return public, errors.Join(err, out.Flush(), file.Close())
}

// generate writes a closed Session of about size bytes, with the lines that
// wrap records.
func generate(to io.Writer, size int64) (aar.PublicKey, error) {
	var seed [32]byte
	rand.Read(seed[:])
	key := aar.NewSigningKey(seed)
	sink := &stream{to: to}
	w, err := aar.NewWriter(sink, key)
	if err != nil {
		return aar.PublicKey{}, err
	}
	policy := aar.HashPolicySet([]byte("bench"))
	wall, response := uint64(12), aar.DigestResponse([]byte("{}"))
	for i := 0; sink.written < size; i++ {
		c, err := w.Begin("read_file", aar.DigestRequest(fmt.Append(nil, i)), aar.Unevaluated(policy))
		if err != nil {
			return aar.PublicKey{}, err
		}
		grant := "wrap-passthrough-" + c.ID()
		err = c.End(aar.Outcome{
			PolicySetHash: policy,
			Policy:        aar.Policy{Status: aar.Allowed},
			Capability:    aar.Capability{Status: aar.Granted, Grant: aar.Grant{GrantID: grant, ToolID: c.ToolID()}},
			Execution:     aar.Execution{Status: aar.Success},
			GrantID:       grant, ResponseDigest: &response, WallMS: &wall,
		})
		if err != nil {
			return aar.PublicKey{}, err
		}
	}
	return key.Public(), w.Close(aar.Close{})
}

// addVerify puts the figures of verify into the report.
func (r *report) addVerify(pairs []verifyRound) {
	bare := over(pairs, func(p verifyRound) float64 { return p.bare })
	verify := over(pairs, func(p verifyRound) float64 { return p.verify })
	speed := over(pairs, func(p verifyRound) float64 { return p.mib / p.verify * 1e3 })
	r.Verify = []named{
		{fmt.Sprintf("bare ed25519.Verify of records of %.0f MiB", pairs[0].mib), "ms", bare.summary()},
		{"verify of the same records", "ms", verify.summary()},
		{"verify", "MiB/s", speed.summary()},
	}
	var peak series
	if r.File.PeakMiB > 0 {
		peak = series{r.File.PeakMiB}
	}
	r.Aims = append(r.Aims,
		newAim("verify: time bare / time verify", over(pairs, func(p verifyRound) float64 { return p.bare / p.verify }), "≥", 0.65),
		newAim(fmt.Sprintf("verify: peak memory of %d MiB, MiB", r.File.Bytes>>20), peak, "≤", 64),
	)
}
