// Command replay is an MCP server that says what a file tells it to, byte for
// byte. It is no model of a server: tests use it to say what no honest server
// would.
//
//	replay SCRIPT
//
// SCRIPT is JSON: an object with the answer to each tool's call, and to other
// methods, by name. In an answer %ID% stands for the request's id as it came.
// An answer that ends without a line end gets one. The special answers
// "!exit N", "!die" and "!silent" end the server or leave the request open, as
// do "!exit" and "!die" on a last line behind others. "!keep" and a line end
// before an answer keep it until one is said that is not kept, the latest first.
// "!base64" and a space are before the text of bytes that JSON cannot hold. The
// member "greeting" is said at the start; "stderr" is written there before each
// answer, 4096 times.
// Under Content-Length framing (the member "framing" is "length") each answer
// is one message. The member "chunk", if given, writes so many bytes at a time.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
)

type script struct {
	Framing  string            `json:"framing"`
	Chunk    int               `json:"chunk"`
	Answers  map[string]string `json:"answers"`
	Greeting string            `json:"greeting"`
	Stderr   string            `json:"stderr"`

	kept []string
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(text, &s); err != nil {
		log.Fatal(err)
	}
	io.WriteString(os.Stdout, s.Greeting)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		message, err := s.read(in)
		if len(message) > 0 {
			s.answer(message)
		}
		if err != nil {
			return
		}
	}
}

func (s *script) read(in *bufio.Reader) ([]byte, error) {
	if s.Framing != "length" {
		return in.ReadBytes('\n')
	}
	length := -1
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if value, ok := strings.CutPrefix(strings.ToLower(line), "content-length:"); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	if length < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	body := make([]byte, length)
	_, err := io.ReadFull(in, body)
	return body, err
}

func (s *script) answer(message []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Name string `json:"name"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method == "" {
		return
	}
	name := m.Method
	if m.Method == "tools/call" {
		name = m.Params.Name
	}
	text, ok := s.Answers[name]
	switch {
	case !ok && len(m.ID) == 0:
		return
	case !ok:
		text = `{"jsonrpc":"2.0","id":%ID%,"result":{}}`
	}
	text = strings.ReplaceAll(text, "%ID%", string(m.ID))
	if kept, ok := strings.CutPrefix(text, "!keep\n"); ok {
		s.kept = append(s.kept, kept)
		return
	}
	io.WriteString(os.Stderr, strings.Repeat(s.Stderr, 4096))
	said, last := "", text
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		said, last = text[:i], text[i+1:]
	}
	switch {
	case text == "!silent":
		return
	case strings.HasPrefix(last, "!"):
		if said != "" {
			s.write([]byte(said))
		}
		s.act(last)
	default:
		s.write([]byte(text))
	}
	for len(s.kept) > 0 {
		s.write([]byte(s.kept[len(s.kept)-1]))
		s.kept = s.kept[:len(s.kept)-1]
	}
}

// act does what a special answer says.
func (s *script) act(special string) {
	verb, arg, _ := strings.Cut(special, " ")
	switch verb {
	case "!base64":
		b, err := base64.StdEncoding.DecodeString(arg)
		if err != nil {
			log.Fatal(err)
		}
		s.write(b)
	case "!die":
		p, _ := os.FindProcess(os.Getpid())
		p.Kill()
		select {}
	case "!exit":
		code, _ := strconv.Atoi(arg)
		os.Exit(code)
	default:
		log.Fatalf("no special answer %s", special)
	}
}

func (s *script) write(b []byte) {
	if s.Framing == "length" {
		b = append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(b)), b...)
	} else if b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	for size := s.Chunk; size > 0 && len(b) > size; b = b[size:] {
		os.Stdout.Write(b[:size])
	}
	os.Stdout.Write(b)
}
