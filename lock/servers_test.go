package lock

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// childArg makes the test binary a server of its own tests.
const childArg = "-lock-test-server"

var servers = map[string]func() int{"fake": runFake}

// fake is an MCP server that answers as it is told. Its faults are named by what
// it does wrong.
type fake struct {
	Stateless    bool // knows no initialize
	Capabilities string
	Instructions string
	Tools        []string // of each page the JSON texts of its tools, with commas
	Resources    []string
	Prompts      []string

	Endless, SameCursor bool
	Huge                int // bytes of one description
	Thousand            bool
	Fault               string
	asked               []string
}

func (f *fake) argv(t testing.TB) []string {
	t.Helper()
	spec, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return []string{os.Args[0], childArg, "fake", string(spec)}
}

func runFake() int {
	var f fake
	if err := json.Unmarshal([]byte(os.Args[3]), &f); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	switch f.Fault {
	case "silent":
		bufio.NewReader(os.Stdin).WriteTo(new(strings.Builder))
		return 0
	case "deaf": // and it never ends by itself
		time.Sleep(time.Hour)
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot open \x1b[31mdatabase")
		return 7
	case "child":
		// A grandchild that holds the pipes and would outlive its parent.
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 3
		}
		fmt.Fprintf(os.Stderr, "grandchild %d\n", cmd.Process.Pid)
		return 0
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		for _, frame := range f.answer(line) {
			os.Stdout.WriteString(frame + "\n")
		}
	}
}

// answer is what the server sends after a message.
func (f *fake) answer(message []byte) (frames []string) {
	var r struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params struct {
			Cursor string                    `json:"cursor"`
			Meta   map[string]jsontext.Value `json:"_meta"`
		} `json:"params"`
	}
	if err := json.Unmarshal(message, &r); err != nil {
		return []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`}
	}
	f.asked = append(f.asked, r.Method)
	if r.ID == nil || r.Method == "" {
		return nil
	}
	result := func(text string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, text)
	}
	failure := func(code int) []string {
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"method not found"}}`, r.ID, code)}
	}
	capabilities := f.Capabilities
	if capabilities == "" {
		capabilities = `{"tools":{}}`
	}
	instructions := ""
	if f.Instructions != "" {
		instructions = `,"instructions":` + f.Instructions
	}
	switch f.Fault {
	case "noise":
		frames = append(frames, "Server is running", "")
	case "asks":
		frames = append(frames, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`, `{"jsonrpc":"2.0","method":"notifications/message"}`)
	case "ambiguous":
		return []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"tools":[]}}`, r.ID)}
	case "noisy":
		return []string{strings.Repeat("x", maxNoise+1)}
	}
	switch r.Method {
	case "initialize":
		if f.Stateless {
			return append(frames, failure(-32601)...)
		}
		return append(frames, result(`{"protocolVersion":"2025-11-25","capabilities":`+capabilities+instructions+`,"serverInfo":{"name":"fake","version":"1"}}`))
	case "server/discover":
		if !f.Stateless {
			return append(frames, failure(-32601)...)
		}
		return append(frames, result(`{"supportedVersions":["2026-07-28"],"capabilities":`+capabilities+instructions+`}`))
	}
	if f.Stateless && string(r.Params.Meta["io.modelcontextprotocol/protocolVersion"]) != `"2026-07-28"` {
		return failure(-32602)
	}
	lists := map[string][]string{"tools": f.Tools, "resources": f.Resources, "prompts": f.Prompts}
	list, _, _ := strings.Cut(r.Method, "/")
	pages, ok := lists[list]
	if !ok || pages == nil && list != "tools" {
		return append(frames, failure(-32601)...)
	}
	page := 0
	fmt.Sscanf(r.Params.Cursor, "p%d", &page)
	next := ""
	switch {
	case f.SameCursor:
		next = `,"nextCursor":"p1"`
	case f.Endless || page+1 < len(pages):
		next = fmt.Sprintf(`,"nextCursor":"p%d"`, page+1)
	}
	entries := ""
	if page < len(pages) {
		entries = pages[page]
	}
	if f.Thousand {
		var all []string
		for _, tool := range thousand() {
			all = append(all, string(tool))
		}
		entries = strings.Join(all, ",")
	}
	if f.Huge > 0 {
		entries = `{"name":"huge","description":"` + strings.Repeat("x", f.Huge) + `"}`
	}
	return append(frames, result(`{"`+list+`":[`+entries+`]`+next+`}`))
}

// limit is how long anything may take before it counts as a hang.
const limit = 30 * time.Second

func captured(t testing.TB, f *fake, o CaptureOptions) (*Surface, error) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = limit
	}
	return CaptureStdio(context.Background(), f.argv(t), o)
}
