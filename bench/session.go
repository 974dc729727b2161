package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// request is a JSON-RPC request without its id.
type request struct{ before, after string }

func newRequest(method, params string) request {
	return request{`{"jsonrpc":"2.0","id":`, fmt.Sprintf(`,"method":%q,"params":%s}`+"\n", method, params)}
}

// The requests of the benchmark. A ping is relayed and not recorded.
var (
	initialize = newRequest("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	ping       = newRequest("ping", "{}")
	call       = newRequest("tools/call", `{"name":"echo","arguments":{"text":"`+strings.Repeat("sixteen letters ", 4)+`"}}`)
)

// session is a client with its server, behind a relay or not.
type session struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	err   bytes.Buffer // its stderr, shown only if it fails
	id    int
	frame []byte
}

// startSession spawns argv and returns when it has answered its first request,
// with the time that took.
func startSession(ctx context.Context, argv []string) (*session, time.Duration, error) {
	s := &session{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	s.cmd.Stderr = &s.err
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, 0, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, 0, err
	}
	if err := errors.Join(s.send(initialize), s.receive()); err != nil {
		return nil, 0, errors.Join(err, s.close())
	}
	return s, time.Since(begin), nil
}

func (s *session) send(r request) error {
	s.id++
	s.frame = append(s.frame[:0], r.before...)
	s.frame = strconv.AppendInt(s.frame, int64(s.id), 10)
	s.frame = append(s.frame, r.after...)
	_, err := s.in.Write(s.frame)
	return err
}

var errNoResult = errors.New("an answer is not a result")

func (s *session) receive() error {
	line, err := s.out.ReadSlice('\n')
	if err == nil && !bytes.Contains(line, []byte(`"result"`)) {
		err = errNoResult
	}
	return err
}

// sequential sends n requests, each when the one before is answered, and adds
// the times of the round trips, in microseconds, to trips.
func (s *session) sequential(r request, n int, trips *series) error {
	for range n {
		begin := time.Now()
		if err := errors.Join(s.send(r), s.receive()); err != nil {
			return err
		}
		*trips = append(*trips, us(time.Since(begin)))
	}
	return nil
}

// inFlight has window requests in flight until n are answered, and returns how
// many were answered a second. Each answer is followed by the next request.
func (s *session) inFlight(r request, n, window int) (perSecond float64, err error) {
	begin := time.Now()
	for range min(window, n) {
		if err := s.send(r); err != nil {
			return 0, err
		}
	}
	for answered := 1; answered <= n; answered++ {
		if err := s.receive(); err != nil {
			return 0, err
		}
		if answered+window <= n {
			if err := s.send(r); err != nil {
				return 0, err
			}
		}
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}

// close ends the session as a client does, by the end of its stream.
func (s *session) close() error {
	err := errors.Join(s.in.Close(), s.cmd.Wait())
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, s.err.Bytes())
	}
	return err
}
