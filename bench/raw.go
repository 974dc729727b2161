package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"os"
	"time"

	"github.com/aegis-aar/aegis/aar"
)

// probe does one thing that a recorded call cannot do without.
type probe struct {
	do  func() error
	end func() error
}

// times runs the probe n times and adds what each took, in microseconds.
func (p probe) times(n int, to *series) error {
	for range n {
		begin := time.Now()
		if err := p.do(); err != nil {
			return err
		}
		*to = append(*to, us(time.Since(begin)))
	}
	return nil
}

// newSyncProbe appends 300 bytes to a file in dir and syncs it, by the calls
// that the record's own sink makes.
func newSyncProbe(dir string) (probe, error) {
	own, err := os.MkdirTemp(dir, "sync-")
	if err != nil {
		return probe{}, err
	}
	sink, err := aar.CreateFile(own)
	if err != nil {
		return probe{}, errors.Join(err, os.RemoveAll(own))
	}
	line := append(bytes.Repeat([]byte("x"), 299), '\n')
	return probe{
		do:  func() error { return errors.Join(sink.Append(line), sink.Sync()) },
		end: func() error { return errors.Join(sink.Close(), os.RemoveAll(own)) },
	}, nil
}

// newSleepProbe is the sync that only sleeps.
func newSleepProbe() (probe, error) {
	return probe{
		do:  func() error { time.Sleep(slowSync); return nil },
		end: func() error { return nil },
	}, nil
}

// newSignProbe signs as many bytes as an outcome has.
func newSignProbe() (probe, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return probe{}, err
	}
	message := make([]byte, 900)
	return probe{
		do:  func() error { ed25519.Sign(key, message); return nil },
		end: func() error { return nil },
	}, nil
}
