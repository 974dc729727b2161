// Command hostile is an MCP server of the worse kind, for tests:
//
//	hostile LOG SEED polite|stubborn
//
// It appends the SHA-256 of each tools/call it receives to LOG before it does
// anything else about it. It answers out of order, in pieces, twice, or not at
// all, between banners, blank lines and answers nobody asked for. A stubborn one
// survives the end of its stdin and every signal that can be survived.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: hostile LOG SEED polite|stubborn")
		os.Exit(2)
	}
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	check(err)
	log, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	check(err)
	stubborn := os.Args[3] == "stubborn"
	if stubborn {
		signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	}
	s := &server{log: log, random: rand.New(rand.NewPCG(seed, 0))}
	fmt.Printf("hostile server, pid %d\n\n", os.Getpid())
	s.serve()
	for stubborn {
		time.Sleep(time.Hour)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

type server struct {
	log    *os.File
	random *rand.Rand
	out    sync.Mutex
	busy   sync.WaitGroup
}

func (s *server) serve() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		s.receive(bytes.TrimSuffix(line, []byte("\n")))
	}
	s.busy.Wait()
}

func (s *server) receive(line []byte) {
	var request struct {
		ID     int
		Method string
		Params struct {
			Arguments struct{ Answer bool }
		}
	}
	if json.Unmarshal(line, &request) != nil || request.Method != "tools/call" {
		return
	}
	_, err := fmt.Fprintf(s.log, "%x\n", sha256.Sum256(line))
	check(err)
	if !request.Params.Arguments.Answer {
		return
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%0*d"}]}}`+"\n",
		request.ID, 1+s.random.IntN(2000), request.ID)
	delay := time.Duration(s.random.IntN(2000)) * time.Microsecond
	cut := s.random.IntN(len(answer))
	extra := s.random.IntN(8)
	s.busy.Go(func() {
		time.Sleep(delay)
		s.out.Lock()
		defer s.out.Unlock()
		os.Stdout.WriteString(answer[:cut])
		os.Stdout.WriteString(answer[cut:])
		switch extra {
		case 0:
			os.Stdout.WriteString(answer)
		case 1:
			os.Stdout.WriteString(`{"jsonrpc":"2.0","id":"nobody","result":{}}` + "\n")
		case 2:
			os.Stdout.WriteString("a banner, {not JSON\n\n")
		case 3:
			os.Stdout.WriteString(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"noise"}}` + "\n")
		case 4:
			fmt.Fprintln(os.Stderr, "noise")
		}
	})
}
