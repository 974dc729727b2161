// Command echo is the MCP server that the benchmark talks to: one JSON-RPC
// message a line, the text of a tools/call sent back in one text block, or a
// text of `fill` bytes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			Text json.RawMessage `json:"text"`
			Fill int             `json:"fill"`
		} `json:"arguments"`
	} `json:"params"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		answer(out, line)
		// Answers to requests that came together leave together.
		if in.Buffered() == 0 || err != nil {
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}

func answer(out *bufio.Writer, line []byte) {
	var m message
	if len(bytes.TrimSpace(line)) == 0 || json.Unmarshal(line, &m) != nil || len(m.ID) == 0 {
		return
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
	case "tools/call":
		text := []byte(m.Params.Arguments.Text)
		if n := m.Params.Arguments.Fill; n > 0 {
			text = fill(n)
		}
		result = fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"isError":false}`, text)
	}
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
}

// filled holds the last text that was made.
var filled []byte

// fill returns a JSON string of n characters of plain English.
func fill(n int) []byte {
	if len(filled) != n+2 {
		const prose = "The file was read and holds 214 lines, of which 12 are blank; the first names its author. "
		filled = append([]byte{'"'}, bytes.Repeat([]byte(prose), n/len(prose)+1)[:n]...)
		filled = append(filled, '"')
	}
	return filled
}
