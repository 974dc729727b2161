package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// step is one step of a scenario; see scenarios/README.md.
type step struct {
	Do          string          `json:"do"`
	Params      json.RawMessage `json:"params"`
	Progress    int             `json:"progress"`
	CancelAfter int             `json:"cancelAfter"`
	What        string          `json:"what"`
	Containing  string          `json:"containing"`
	Want        string          `json:"want"`
	Steps       []step          `json:"steps"`
}

func scenarioFile(name string) string { return filepath.Join("scenarios", name+".json") }

func loadScenario(t *testing.T, name, dir string) []step {
	t.Helper()
	text, err := os.ReadFile(scenarioFile(name))
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "${dir}", filepath.ToSlash(dir))), &steps); err != nil {
		t.Fatalf("%s: %v", scenarioFile(name), err)
	}
	return steps
}

// calls counts the tools/call requests of a scenario.
func calls(steps []step) int {
	n := 0
	for _, s := range steps {
		if s.Do == "tools/call" {
			n++
		}
		n += calls(s.Steps)
	}
	return n
}

// cancels counts those that are cancelled before they are answered.
func cancels(steps []step) int {
	n := 0
	for _, s := range steps {
		if s.CancelAfter > 0 {
			n++
		}
		n += cancels(s.Steps)
	}
	return n
}

// transcript is what a session gave, in canonical JSON: first what the server
// said of itself, then an element for each step.
type transcript []json.RawMessage

func newTranscript(t *testing.T, text []byte) transcript {
	t.Helper()
	var values []any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatalf("transcript: %v\n%s", err, text)
	}
	var out transcript
	for _, v := range values {
		out = append(out, toJSON(v))
	}
	return out
}

// toJSON writes values of JSON one way only: names sorted, nothing escaped that
// need not be.
func toJSON(v any) json.RawMessage {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// meets fails the test unless each step gave what the scenario wants of it.
func (tr transcript) meets(t *testing.T, steps []step) {
	t.Helper()
	if len(tr) != len(steps)+1 {
		t.Fatalf("%d steps gave %d results", len(steps), len(tr)-1)
	}
	for i, s := range steps {
		if s.Want == "" {
			t.Errorf("step %d (%s) wants nothing", i, s.Do)
		}
		// The text of a tool's result may itself be JSON, escaped.
		if got := string(tr[i+1]); !strings.Contains(got, s.Want) {
			t.Errorf("step %d (%s %s) gave no %q:\n%s", i, s.Do, s.Params, s.Want, got)
		}
	}
}

// equals fails the test unless two sessions gave the same.
func (tr transcript) equals(t *testing.T, what string, direct transcript) {
	t.Helper()
	if len(tr) != len(direct) {
		t.Fatalf("%s gave %d results, the direct session %d", what, len(tr), len(direct))
	}
	for i := range tr {
		if string(tr[i]) != string(direct[i]) {
			t.Errorf("step %d differs\n%s: %s\ndirect: %s", i-1, what, tr[i], direct[i])
		}
	}
}
