package harness

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// Line is one line of a record, as far as tests look at it.
type Line struct {
	Type           string    `json:"line_type"`
	Seq            int       `json:"seq"`
	CallID         string    `json:"call_id"`
	ToolID         string    `json:"tool_id"`
	RequestDigest  string    `json:"request_digest"`
	ResponseDigest string    `json:"response_digest"`
	Execution      Execution `json:"execution"`
	Child          *Child    `json:"child"`
}

// Execution is the execution member of an outcome.
type Execution struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// Child is the child member of a close line.
type Child struct {
	ExitCode *int   `json:"exit_code"`
	Signal   string `json:"signal"`
}

// Lines reads a record. A last line that was torn off is left out.
func (r *Recording) Lines(t testing.TB) []Line {
	t.Helper()
	text, err := os.ReadFile(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	var lines []Line
	for len(text) > 0 {
		row, rest, whole := bytes.Cut(text, []byte("\n"))
		var line Line
		if err := json.Unmarshal(row, &line); err == nil {
			lines = append(lines, line)
		} else if whole {
			t.Fatalf("line %d of the record does not parse: %v", len(lines)+1, err)
		}
		text = rest
	}
	return lines
}

// Call is one call of a record.
type Call struct{ Intent, Outcome Line }

// Calls pairs the intents of one session with their outcomes, in call order. It
// fails the test unless each has exactly one, behind it and in agreement with it.
func Calls(t testing.TB, lines []Line) []Call {
	t.Helper()
	var calls []Call
	at := map[string]int{}
	for _, line := range lines {
		switch line.Type {
		case "intent":
			if _, twice := at[line.CallID]; twice {
				t.Errorf("call %s has two intents", line.CallID)
			}
			at[line.CallID] = len(calls)
			calls = append(calls, Call{Intent: line})
		case "outcome":
			i, ok := at[line.CallID]
			if !ok {
				t.Errorf("call %s has an outcome and no intent before it", line.CallID)
				continue
			}
			call := &calls[i]
			if call.Outcome.Type != "" {
				t.Errorf("call %s has two outcomes", line.CallID)
			}
			call.Outcome = line
			if line.ToolID != call.Intent.ToolID || line.RequestDigest != call.Intent.RequestDigest {
				t.Errorf("call %s: intent and outcome disagree:\n%+v\n%+v", line.CallID, call.Intent, line)
			}
		}
	}
	for _, call := range calls {
		if call.Outcome.Type == "" {
			t.Errorf("call %s (%s) has no outcome", call.Intent.CallID, call.Intent.ToolID)
		}
	}
	return calls
}
