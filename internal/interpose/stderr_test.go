package interpose

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// A server that writes more to its stderr than a pipe holds is not kept from
// answering, and all it wrote passes as it came.
func TestStderrPassesAsItComes(t *testing.T) {
	for _, tc := range []struct{ name, step, want string }{
		{"lines", "complain-lines 262144", strings.Repeat(strings.Repeat("!", 63)+"\n", 4096)},
		{"one stretch", "complain 262144", strings.Repeat("!", 262144)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := start(t, script("read", tc.step, "say "+result("1")+"\n"))
			s.send(call("1", "t"))
			s.wantNext(result("1"))
			s.finish()
			wantSame(t, "stderr got", s.stderr.String(), tc.want)
		})
	}
}

// It makes no difference that nobody reads our stderr. What did not fit is
// announced once, when somebody does.
func TestStderrThatNobodyReads(t *testing.T) {
	const written, later = 3 << 20, 1000
	stderr, ours, err := os.Pipe()
	must(t, err)
	defer stderr.Close()
	s := start(t, script("read", "complain 3145728", "say "+result("1")+"\n", "read", "complain 1000"), func(c *Config) { c.Stderr = NewPump(ours) })
	s.send(call("1", "t"))
	s.wantNext(result("1"))

	stderr.SetReadDeadline(time.Now().Add(limit))
	r := bufio.NewReader(stderr)
	passed, err := r.ReadString('\n') // the announcement starts on a line of its own
	must(t, err)
	announced, err := r.ReadString('\n')
	must(t, err)
	var rest []byte
	read := make(chan error)
	go func() {
		var err error
		rest, err = io.ReadAll(r)
		read <- err
	}()
	s.send(ping("2"))
	s.finish()
	ours.Close()
	must(t, <-read)

	var dropped int
	if _, err := fmt.Sscanf(announced, "aegis: dropped %d bytes of stderr: nobody was reading it\n", &dropped); err != nil || dropped == 0 {
		t.Errorf("%q: %v", announced, err)
	}
	if got := len(passed) - 1 + dropped + len(rest); got != written+later || strings.Trim(string(rest), "!") != "" {
		t.Errorf("%d bytes passed, %d were dropped, then came %d, of %d in all", len(passed)-1, dropped, len(rest), written+later)
	}
}

// The pump holds a bounded part of what nobody takes.
func TestThePumpIsBounded(t *testing.T) {
	block := make(chan struct{})
	p := NewPump(blockedWriter{block})
	chunk := make([]byte, 64<<10)
	for range 100 {
		if n, err := p.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	p.mu.Lock()
	if len(p.waiting) > maxPumped {
		t.Errorf("%d bytes wait", len(p.waiting))
	}
	p.mu.Unlock()
	began := time.Now()
	p.Close(10 * time.Millisecond) // it does not wait for ever
	if took := time.Since(began); took > limit/2 {
		t.Errorf("close took %v", took)
	}
	close(block)
	<-p.idle
}

type blockedWriter struct{ until chan struct{} }

func (w blockedWriter) Write(p []byte) (int, error) {
	<-w.until
	return len(p), nil
}
