package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aegis-aar/aegis/internal/report"
	"github.com/aegis-aar/aegis/internal/wire"
	"github.com/aegis-aar/aegis/policy"
)

// maxCallFile bounds a call file as a frame is bounded.
const maxCallFile = 64 << 20

// sampleCall is the call of a `--call` file.
type sampleCall struct {
	request policy.Request
	// ambiguous says why enforcement would refuse the frame before any rule is
	// asked; empty for a frame that has one reading.
	ambiguous string
}

// loadCall reads a call file, or standard input for "-": the JSON-RPC frame of a
// tools/call, or an object with `tool` and, optionally, `capability`, `role`,
// `session` and `arguments`.
func loadCall(s streams, path string) (sampleCall, error) {
	call, err := func() (sampleCall, error) {
		text, err := readCallFile(s, path)
		if err != nil {
			return sampleCall{}, err
		}
		return parseCall(text)
	}()
	if err != nil {
		return call, &exitError{2, fmt.Errorf("call %s: %s", report.SafeText(path), report.SafeText(err.Error()))}
	}
	return call, nil
}

func readCallFile(s streams, path string) ([]byte, error) {
	in := s.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxCallFile+1))
	if err == nil && len(text) > maxCallFile {
		err = fmt.Errorf("longer than %d bytes", maxCallFile)
	}
	return text, err
}

func parseCall(text []byte) (sampleCall, error) {
	// The line breaks of a file that was written by hand are not the frame's.
	frame := jsontext.Value(bytes.Clone(bytes.TrimPrefix(text, []byte("\ufeff"))))
	if err := frame.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return sampleCall{}, err
	}
	m := wire.Classify(frame)
	switch {
	case m.Class != wire.Exact:
		return sampleCall{ambiguous: m.Reason}, nil
	case m.Batch:
		return sampleCall{}, fmt.Errorf("one call is wanted, found a batch of %d", len(m.Elements))
	case m.Elements[0].IsCall:
		return sampleCall{request: policy.Request{Tool: m.Elements[0].Tool, Arguments: m.Elements[0].Arguments}}, nil
	case m.Elements[0].Kind != wire.Other:
		return sampleCall{}, fmt.Errorf("a tools/call is wanted, found method %q", m.Elements[0].Method)
	}
	return parseShortCall(frame)
}

// parseShortCall reads {"tool": …}. Its names are distinct: the frame was Exact.
func parseShortCall(text []byte) (sampleCall, error) {
	const known = "tool, capability, role, session, arguments"
	var call sampleCall
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if dec.PeekKind() != '{' {
		return call, fmt.Errorf("a call is an object: a tools/call frame, or one of %s", known)
	}
	dec.ReadToken()
	named := false
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return call, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return call, err
		}
		if key == "arguments" {
			call.request.Arguments = bytes.Clone(value)
			continue
		}
		if !slices.Contains(strings.Split(known, ", "), key) {
			return call, fmt.Errorf("unknown member %q (known: %s)", key, known)
		}
		if value.Kind() != '"' {
			return call, fmt.Errorf("%q is a string, found %s", key, value.Kind())
		}
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return call, err
		}
		said := string(unquoted)
		switch key {
		case "tool":
			if strings.ContainsRune(said, 0) {
				return sampleCall{ambiguous: "NUL in a name"}, nil // as the frame would be
			}
			call.request.Tool, named = said, true
		case "capability":
			call.request.Capability = &said
		case "role":
			call.request.Role = &said
		case "session":
			call.request.Session = &said
		}
	}
	if !named {
		return call, fmt.Errorf("a call needs %q", "tool")
	}
	return call, nil
}
