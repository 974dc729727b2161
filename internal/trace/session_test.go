package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aegis-aar/aegis/internal/wire"
)

const (
	callA  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`
	callB  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}`
	list3  = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	result = `{"jsonrpc":"2.0","id":%s,"result":{}}`
)

func answer(id string) string { return fmt.Sprintf(result, id) }

// feed plays frames, `>` sent by the client and `<` by the server, and lists
// what of them is inspected, as tool and body.
func feed(inFlight int, frames ...string) (inspected []string) {
	s := NewSession(inFlight)
	for _, f := range frames {
		m := wire.Classify([]byte(f[1:]))
		if f[0] == '>' {
			s.Client(m)
			continue
		}
		for _, a := range s.Server(m, []byte(f[1:])) {
			inspected = append(inspected, a.Tool+" "+string(a.Body))
		}
	}
	return inspected
}

func TestWhatIsInspected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames []string
		want   []string
	}{
		"answers to calls, in any order": {
			[]string{">" + callA, ">" + callB, "<" + answer("2"), "<" + answer("1")},
			[]string{"b " + answer("2"), "a " + answer("1")},
		},
		"nothing else that is known": {
			[]string{">" + list3, "<" + answer("3"), `<{"jsonrpc":"2.0","method":"notifications/message","params":{}}`, `<{"jsonrpc":"2.0","id":9,"method":"ping"}`, `<"text"`},
			nil,
		},
		"an unknown id, a second answer, an evicted call, no id": {
			[]string{"<" + answer("7"), ">" + callA, "<" + answer("1"), "<" + answer("1"), ">" + callA, ">" + callB, ">" + list3, "<" + answer("1"), "<" + answer("null")},
			[]string{" " + answer("7"), "a " + answer("1"), " " + answer("1"), " " + answer("1"), " " + answer("null")},
		},
		"an error": {
			[]string{">" + callA, `<{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`},
			[]string{`a {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`},
		},
		"the elements of a batch": {
			[]string{">[" + callA + "," + list3 + "]", "<[" + answer("3") + "," + answer("1") + "]"},
			[]string{"a " + answer("1")},
		},
		"what is no JSON": {
			[]string{"<Listening on 3000"},
			[]string{" Listening on 3000"},
		},
		"an ambiguous answer to a call": {
			[]string{">" + callA, `<{"id":1,"result":1,"result":2}`},
			[]string{`a {"id":1,"result":1,"result":2}`},
		},
		"an answer that two readers pair differently": {
			[]string{">" + callA, ">" + list3, `<{"id":1,"id":3,"result":1}`},
			[]string{` {"id":1,"id":3,"result":1}`},
		},
		"an ambiguous answer to another request": {
			[]string{">" + list3, `<{"id":3,"result":1,"result":2}`},
			nil,
		},
		"the answer to an ambiguous call": {
			[]string{`>{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, "<" + answer("1")},
			[]string{" " + answer("1")},
		},
	} {
		if got := feed(2, c.frames...); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: inspected\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestDirectionOfBareFrames(t *testing.T) {
	t.Parallel()
	s := NewSession(DefaultInFlight)
	for _, step := range []struct {
		frame string
		want  Direction
	}{
		{`{"id":1,"method":"initialize"}`, Client},
		{answer("1"), Server},
		{callA, Client},
		{`{"id":1,"method":"sampling/createMessage"}`, Server},
		{answer("1"), Server}, // the client has a 1 open as well
		{answer("1"), Client},
		{answer("1"), Server},
		{`{"id":5,"method":"roots/list"}`, Server},
		{answer("5"), Client},
		{`{"method":"notifications/initialized"}`, Client},
		{`{"method":"notifications/tools/list_changed"}`, Server},
		{`[` + callB + `]`, Client},
		{`{"id":2,"id":2,"result":{}}`, Server},
		{`{"id":2,"id":2,"method":"tools/call"}`, Client},
		{`[]`, Server},
	} {
		m := wire.Classify([]byte(step.frame))
		got := s.Direction(m)
		if got != step.want {
			t.Errorf("%s is %s", step.frame, got)
		}
		if got == Client {
			s.Client(m)
		} else {
			s.Server(m, []byte(step.frame))
		}
	}
}
