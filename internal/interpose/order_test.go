package interpose

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

// Every request reaches the server after a sync that covers its intent, and every
// answer reaches the client after its outcome was written: 500 calls, 64 of them
// in flight. The server looks up the intent when the first byte of a request
// comes, the client the outcome when it gets the answer.
func TestIntentsAreDurableBeforeAndOutcomesWrittenBefore(t *testing.T) {
	const n, inFlight = 500, 64
	file := filepath.Join(t.TempDir(), "durable")
	must(t, os.WriteFile(file, nil, 0o600))
	client := &lookingClient{room: make(chan struct{}, inFlight), written: map[string]bool{}}
	s := start(t, server("witness", file), func(c *Config) {
		w, err := aar.NewWriter(&syncedFile{path: file, client: client}, sinktest.Key())
		must(t, err)
		t.Cleanup(func() { w.Close(aar.Close{}) })
		c.Answer, c.Recorder = client, w
	})
	for i := range n {
		client.room <- struct{}{}
		s.send(call(fmt.Sprint(i), fmt.Sprintf("tool-%d.", i)))
	}
	s.finish()
	if client.durable != n || client.recorded != n {
		t.Errorf("of %d answers, %d are to a durable intent and %d have an outcome before them", n, client.durable, client.recorded)
	}
}

// syncedFile is a sink that notes in a file the tools of the intents that a
// completed Sync covers, and tells its client of outcomes as they are written.
type syncedFile struct {
	path   string
	client *lookingClient

	mu      sync.Mutex
	written []byte // since the last Sync
}

func (*syncedFile) Durability() aar.Durability { return aar.Durable }
func (*syncedFile) Tail() *aar.LineHash        { return nil }
func (*syncedFile) Close() error               { return nil }

var (
	toolOfIntent = regexp.MustCompile(`"line_type":"intent".*("tool_id":"[^"]*")`)
	digestOfLine = regexp.MustCompile(`"response_digest":"([^"]*)"`)
)

func (f *syncedFile) Append(lines []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range bytes.Lines(lines) {
		if m := toolOfIntent.FindSubmatch(line); m != nil {
			f.written = append(append(f.written, m[1]...), '\n')
		}
		if m := digestOfLine.FindSubmatch(line); m != nil {
			f.client.mu.Lock()
			f.client.written[string(m[1])] = true
			f.client.mu.Unlock()
		}
	}
	return nil
}

func (f *syncedFile) Sync() error {
	f.mu.Lock()
	covered := f.written
	f.written = nil
	f.mu.Unlock()
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = file.Write(covered)
	return err
}

// lookingClient is a client that looks at the record when it gets an answer.
type lookingClient struct {
	room chan struct{} // holds the calls in flight

	mu                sync.Mutex
	written           map[string]bool // response digests on record
	durable, recorded int
}

func (c *lookingClient) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range bytes.Lines(p) {
		if bytes.Contains(line, []byte(`"result":"durable"`)) {
			c.durable++
		}
		if c.written[fmt.Sprintf("%x", sha256.Sum256(bytes.TrimSuffix(line, []byte("\n"))))] {
			c.recorded++
		}
		<-c.room
	}
	return len(p), nil
}
