package report

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// sarifLog is what the tests read of a document.
type sarifLog struct {
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name, Version string
				Rules         []struct {
					ID   string
					Help struct{ Text string }

					DefaultConfiguration struct{ Level string }
					Properties           map[string]any
				}
			}
		}
		Results     []sarifResult
		Invocations []struct {
			ExecutionSuccessful        bool
			ToolExecutionNotifications []struct{ Message struct{ Text string } }
		}
		Properties map[string]any
	}
}

type sarifResult struct {
	RuleID    string
	RuleIndex *int
	Level     string
	Message   struct{ Text string }
	Locations []struct {
		PhysicalLocation struct {
			ArtifactLocation struct{ URI string }
			Region           *struct{ StartLine int }
		}
		LogicalLocations []struct{ FullyQualifiedName string }
	}
	PartialFingerprints map[string]string
	Properties          map[string]any
}

// schema is the OASIS schema. It says draft 04; what it uses of it means the
// same in draft 07, but for the name of `id`.
var schema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	text, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		return nil, err
	}
	head := strings.NewReplacer("draft-04", "draft-07", `"id": "https://docs.oasis-open.org`, `"$id": "https://docs.oasis-open.org`)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(head.Replace(string(text[:1024]))+string(text[1024:])), &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
})

// validSARIF holds a document to the schema and to what code scanning asks for
// beyond it.
func validSARIF(t *testing.T, text []byte) sarifLog {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("not JSON: %v; ends with %q", err, text[max(0, len(text)-80):])
	}
	s, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); err != nil {
		t.Fatalf("against the schema: %v", err)
	}
	var log sarifLog
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	if len(log.Runs) != 1 || log.Runs[0].Results == nil {
		t.Fatalf("%d runs, not one with results", len(log.Runs))
	}
	prints := map[string]bool{}
	for i, r := range log.Runs[0].Results {
		if r.RuleID == "" || r.Message.Text == "" || len(r.Locations) != 1 {
			t.Fatalf("result %d: rule %q, message %q, %d locations", i, r.RuleID, r.Message.Text, len(r.Locations))
		}
		if r.RuleIndex != nil && log.Runs[0].Tool.Driver.Rules[*r.RuleIndex].ID != r.RuleID {
			t.Fatalf("result %d: rule index %d is another rule", i, *r.RuleIndex)
		}
		place := r.Locations[0].PhysicalLocation
		checkURI(t, place.ArtifactLocation.URI)
		if place.Region != nil && place.Region.StartLine < 1 {
			t.Fatalf("result %d: line %d", i, place.Region.StartLine)
		}
		print := r.PartialFingerprints["primaryLocationLineHash"]
		if print == "" || prints[print] {
			t.Fatalf("result %d: fingerprint %q is none of its own", i, print)
		}
		prints[print] = true
	}
	return log
}

func checkURI(t *testing.T, uri string) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil || uri == "" || len(uri) > maxURI || u.IsAbs() || u.Host != "" || strings.HasPrefix(uri, "/") ||
		strings.Contains(uri, "..") || strings.ContainsAny(uri, "\\ #?:") {
		t.Fatalf("%q is no relative URI: %v", uri, err)
	}
}

// The validator is one that says no.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	s, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		`{"version":"2.1.0"}`,
		`{"version":"2.2","runs":[]}`,
		`{"version":"2.1.0","runs":[{"results":[]}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"ruleId":"x"}]}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"results":[{"message":{"text":"x"},"level":"high"}]}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}},"rezults":[]}]}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(bad), &value); err != nil {
			t.Fatal(err)
		}
		if s.Validate(value) == nil {
			t.Errorf("%s is taken for SARIF", bad)
		}
	}
}
