package aar_test

import (
	"bytes"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/aegis-aar/aegis/aar"
	"github.com/aegis-aar/aegis/aar/sinktest"
)

// childVar names the environment variable that turns the test binary into one
// of the programs in children, for the tests that need a process of their own.
const childVar = "AAR_TEST_CHILD"

var children = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv(childVar)]; ok {
		os.Exit(run(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

var (
	policySet = aar.HashPolicySet([]byte(`{"default":"allow","rules":[]}`))
	request   = aar.DigestRequest([]byte("{}"))
)

func succeeded() aar.Outcome {
	return aar.Outcome{
		PolicySetHash: policySet,
		Policy:        aar.Policy{Status: aar.Allowed},
		Capability:    aar.Capability{Status: aar.Denied, Reason: "none needed"},
		Execution:     aar.Execution{Status: aar.Success},
	}
}

func mustWriter(t testing.TB, sink aar.Sink) *aar.Writer {
	t.Helper()
	w, err := aar.NewWriter(sink, sinktest.Key())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustBegin(t testing.TB, w *aar.Writer) *aar.Call {
	t.Helper()
	c, err := w.Begin("echo", request, aar.Unevaluated(policySet))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func verify(t testing.TB, file []byte) *aar.Report {
	t.Helper()
	report, err := aar.Verify(t.Context(), bytes.NewReader(file), aar.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// wantHeadline checks the verdict and its reason.
func wantHeadline(t testing.TB, file []byte, want string) {
	t.Helper()
	if got := verify(t, file).Headline(); got != want {
		t.Errorf("verify says %q, want %q", got, want)
	}
}

// lines reads a file that is whole.
func lines(t testing.TB, file []byte) []aar.Line {
	t.Helper()
	var all []aar.Line
	for row := range bytes.Lines(file) {
		line, err := aar.ParseLine(row)
		if err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		all = append(all, line)
	}
	return all
}

// outcomes returns the outcome Lines of a file in their order.
func outcomes(t testing.TB, file []byte) []*aar.Outcome {
	t.Helper()
	var all []*aar.Outcome
	for _, line := range lines(t, file) {
		if o, ok := line.(*aar.Outcome); ok {
			all = append(all, o)
		}
	}
	return all
}

// kinds spells the line types of a file, one letter each: Open, Intent,
// outcome (R, the record), Decision, Close.
func kinds(t testing.TB, file []byte) string {
	t.Helper()
	var s []byte
	for _, line := range lines(t, file) {
		s = append(s, map[aar.LineType]byte{
			aar.TypeOpen: 'O', aar.TypeIntent: 'I', aar.TypeOutcome: 'R', aar.TypeDecision: 'D', aar.TypeClose: 'C',
		}[line.Type()])
	}
	return string(s)
}
