// Package demo holds the embedded parts of `aegis demo`: a small MCP server and
// the session that a client has with it.
package demo

import (
	"bufio"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request is what the server reads of a message.
type request struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

// tools holds the text each tool answers with.
var tools = map[string]string{"read_note": "Buy milk.", "delete_note": "Deleted."}

// Serve is an MCP server over a newline-delimited stream. It knows `initialize`,
// `tools/list` and two tools, and ends with its input.
func Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("not a message: %w", err)
		}
		if r.ID == nil {
			continue
		}
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, answer(r)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func answer(r request) string {
	switch r.Method {
	case "initialize":
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"aegis-demo","version":"1"}}`
	case "tools/list":
		return `"result":{"tools":[{"name":"read_note","inputSchema":{"type":"object"}},{"name":"delete_note","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		if text, ok := tools[r.Params.Name]; ok {
			return `"result":{"content":[{"type":"text","text":"` + text + `"}]}`
		}
		return `"error":{"code":-32602,"message":"no such tool"}`
	}
	return `"error":{"code":-32601,"message":"method not found"}`
}
