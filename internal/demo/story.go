package demo

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A Runner runs one aegis command and returns its exit code.
type Runner func(args []string, in io.Reader, out, errw io.Writer) int

// ServerCommand is the hidden command that runs Serve.
const ServerCommand = "__demo-server"

// policyText is the Policy Set of the demo session.
const policyText = `version: 1
default: allow
rules:
  - id: keep-notes
    action: deny
    tool: delete_note
    reason: notes are kept
`

// stricterText is the Policy Set that the recorded session is held against.
const stricterText = `version: 1
default: deny
rules:
  - id: list-only
    action: allow
    tool: list_notes
`

// session is what the client sends, with a word on each message and on what
// must be in its answer.
var session = []struct{ what, message, want string }{
	{"initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}`, "aegis-demo"},
	{"an allowed call", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_note","arguments":{}}}`, "Buy milk."},
	{"a refused call", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"delete_note","arguments":{}}}`, "POLICY_DENIED"},
}

// Story is one run of the demo.
type Story struct {
	Out     io.Writer
	Heading func(string) string // marks up the title of a step
	Dir     string              // an empty directory of its own
	Self    string              // the aegis binary
	Run     Runner
	steps   int
}

// Tell runs the demo and tells it to Out, step by step: every command shown is
// the command that ran. The error names the first thing that did not go as told.
func (s *Story) Tell() error {
	for name, text := range map[string]string{"policy.yaml": policyText, "stricter.yaml": stricterText} {
		if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	s.step("A signing key")
	keygen, err := s.command(0, "keygen", "--out", s.path("signing.key"))
	if err != nil {
		return err
	}
	key := strings.Fields(keygen)[1]

	s.step("A session: client, aegis wrap, and an MCP server as its child process")
	if err := s.converse(); err != nil {
		return err
	}

	s.step("Whoever has the public key can judge the record, offline")
	if _, err := s.command(0, "verify", "--key", key, s.path("session.aarl")); err != nil {
		return err
	}

	s.step("One byte flipped in a copy")
	if err := s.flip("session.aarl", "flipped.aarl"); err != nil {
		return err
	}
	if _, err := s.command(1, "verify", "--key", key, s.path("flipped.aarl")); err != nil {
		return err
	}

	s.step("What a stricter policy would have decided; nothing is executed")
	_, err = s.command(1, "recheck", "--policy", s.path("stricter.yaml"), s.path("session.aarl"))
	return err
}

func (s *Story) path(name string) string { return filepath.Join(s.Dir, name) }

func (s *Story) step(title string) {
	if s.steps > 0 {
		fmt.Fprintln(s.Out)
	}
	s.steps++
	fmt.Fprintln(s.Out, s.Heading(fmt.Sprintf("%d. %s", s.steps, title)))
}

// show prints the command line, with the names of files for their paths.
func (s *Story) show(args []string) {
	line := strings.ReplaceAll(strings.Join(args, " "), s.Dir+string(filepath.Separator), "")
	fmt.Fprintf(s.Out, "   $ aegis %s\n", strings.ReplaceAll(line, s.Self, "aegis"))
}

// command shows and runs a command, and holds it to an exit code.
func (s *Story) command(want int, args ...string) (stdout string, err error) {
	s.show(args)
	var out, errw bytes.Buffer
	code := s.Run(args, strings.NewReader(""), &out, &errw)
	for line := range strings.Lines(out.String()) {
		fmt.Fprintf(s.Out, "   %s", line)
	}
	fmt.Fprintf(s.Out, "   exit %d\n", code)
	if code != want {
		return "", fmt.Errorf("aegis %s: exit %d, not %d: %s", args[0], code, want, errw.String())
	}
	return out.String(), nil
}

// flip copies a record with one bit changed in the name of the refused tool.
func (s *Story) flip(from, to string) error {
	record, err := os.ReadFile(s.path(from))
	if err != nil {
		return err
	}
	at := bytes.Index(record, []byte("delete_note"))
	if at < 0 {
		return errors.New("the refused call is not on record")
	}
	was := record[at]
	record[at] ^= 1
	fmt.Fprintf(s.Out, "   %s: byte %d, %q, becomes %q\n", to, at, was, record[at])
	return os.WriteFile(s.path(to), record, 0o600)
}

// converse is the client: it sends a message, waits for its answer, and so on.
func (s *Story) converse() error {
	args := []string{
		"wrap", "--policy", s.path("policy.yaml"), "--audit", s.path("session.aarl"),
		"--signing-key", s.path("signing.key"), "--", s.Self, ServerCommand,
	}
	s.show(args)
	wrapIn, client := io.Pipe()
	answers, wrapOut := io.Pipe()
	var errw bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := s.Run(args, wrapIn, wrapOut, &errw)
		wrapOut.Close()
		wrapIn.Close()
		ended <- code
	}()
	talk := func() error {
		defer client.Close()
		lines := bufio.NewReader(answers)
		for _, m := range session {
			fmt.Fprintf(s.Out, "   client → %s\n", m.message)
			if _, err := fmt.Fprintln(client, m.message); err != nil {
				return err
			}
			answer, err := lines.ReadString('\n')
			if err != nil {
				return err
			}
			fmt.Fprintf(s.Out, "   client ← %s", answer)
			if !strings.Contains(answer, m.want) {
				return fmt.Errorf("%s: the answer lacks %q", m.what, m.want)
			}
		}
		return nil
	}
	err := talk()
	answers.Close()
	if code := <-ended; err == nil && code != 0 {
		err = fmt.Errorf("aegis wrap: exit %d: %s", code, errw.String())
	}
	return err
}
