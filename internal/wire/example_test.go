package wire_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/aegis-aar/aegis/internal/wire"
)

// Every frame of a stream, the ones over the cap included.
func Example() {
	stream := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note"}}
{"id":2,"method":"ping","METHOD":"tools/call","params":{"name":"delete_note"}}
{"method":"tools/call","params":{"name":"write_note","arguments":{"text":"a text that is far too long for the cap of this example"}},"id":3}
`
	r := wire.NewReader(strings.NewReader(stream), 100)
	for {
		frame, err := r.Next()
		if err == io.EOF {
			break
		}
		var m wire.Message
		if frame.OverCap {
			var s wire.Scanner
			s.Write(frame.Body)
			r.Rest(func(chunk []byte) error {
				s.Write(chunk)
				return nil
			})
			m = s.OverCap()
		} else {
			m = wire.Classify(frame.Body)
		}
		if m.Class == wire.Exact {
			e := m.Elements[0]
			fmt.Printf("%v: %v of tool %s, id %s\n", m.Class, e.Kind, e.Tool, e.ID.Raw)
		} else {
			fmt.Printf("%v: %s; may call %v, id %s\n", m.Class, m.Reason, m.MayCall, m.ID.Raw)
		}
	}
	// Output:
	// exact: request of tool read_note, id 1
	// ambiguous: member name differs only by case or folding; may call true, id 2
	// over the cap: longer than the frame cap; may call true, id 3
}
