package aar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// readVector reads a published test vector of the format (testdata/README.md).
func readVector(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// golden lists the Lines of the golden Session in their order (specification,
// section 11.2).
var golden = []string{
	"session_open", "intent", "policy_deny", "rate_limit", "pending_approval", "capability_denied",
	"trap", "resource_exceeded", "panic", "abandoned_session", "decision", "session_close",
}

func goldenSession(tb testing.TB) []byte {
	var file []byte
	for _, name := range golden {
		file = append(append(file, readVector(tb, "golden/"+name+".json")...), '\n')
	}
	return file
}

func mustVerify(tb testing.TB, file []byte, trust ...PublicKey) *Report {
	tb.Helper()
	report, err := Verify(tb.Context(), bytes.NewReader(file), VerifyOptions{Pinned: trust != nil, Trust: trust})
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

func foreignKey() *SigningKey {
	return NewSigningKey([32]byte(bytes.Repeat([]byte{9}, 32)))
}

// TestPublishedVerdicts walks every published record file.
func TestPublishedVerdicts(t *testing.T) {
	sections := strings.Split(string(readVector(t, "expected_verify.txt")), "== ")[1:]
	if len(sections) != 17 {
		t.Fatalf("%d expectations", len(sections))
	}
	for _, section := range sections {
		title, want, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			var trust []PublicKey
			name := title
			if after, ok := strings.CutPrefix(title, "--key <foreign> "); ok {
				name, trust = after, []PublicKey{foreignKey().Public()}
			} else if after, ok := strings.CutPrefix(title, "--key <dev> "); ok {
				name, trust = after, []PublicKey{DevKey().Public()}
			}
			var file []byte
			if strings.HasPrefix(name, "derived/goldens_joined.aarl") {
				file = goldenSession(t)
			} else {
				file = readVector(t, name)
			}
			report := mustVerify(t, file, trust...)
			got := fmt.Sprintf("%s\nexit %d\n", strings.Join(report.Text(), "\n"), report.Verdict.ExitCode())
			// What follows `not JSON: ` belongs to the JSON library of whoever reads.
			got = regexp.MustCompile(`not JSON: .*`).ReplaceAllString(got, "not JSON: <text of the JSON library>")
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestPublishedKeys(t *testing.T) {
	for _, tc := range []struct {
		key        *SigningKey
		public, id string
	}{
		{DevKey(), "3de537a06e04b2ffe1fb0558ea16d3c0f042ed99f7e392698aa5120f568d4e2c", "77a2c2f5952039243c043b69e7e812a2deb69e3271adb3013b8f24d3b8ea40f6"},
		{foreignKey(), "fd1724385aa0c75b64fb78cd602fa1d991fdebf76b13c58ed702eac835e9f618", "dbc298251c51321b7266e78d1c151c2b62aff8cb95b293096d3463018544face"},
	} {
		if got := tc.key.Public().String(); got != tc.public {
			t.Errorf("public key %s, want %s", got, tc.public)
		}
		if got := tc.key.ID().String(); got != tc.id {
			t.Errorf("key id %s, want %s", got, tc.id)
		}
	}
}

// TestWriterReproducesTheGoldenSession writes the published Session with our
// own writer, from the dev seed, and compares every byte.
func TestWriterReproducesTheGoldenSession(t *testing.T) {
	var sink MemorySink
	w, err := NewWriter(&sink, DevKey())
	if err != nil {
		t.Fatal(err)
	}
	hash := HashPolicySet([]byte("golden-fixture-policy-set"))
	digest := func(s string) RequestDigest { return DigestRequest([]byte(s)) }
	text := func(s string) *string { return &s }
	refused := func(p Policy, axes Axes) Outcome {
		o := Unevaluated(hash)
		o.Policy, o.DecisionAxes = p, axes
		o.Capability.Reason = "policy blocked before capability"
		return o
	}
	ran := func(e Execution) Outcome {
		return Outcome{
			PolicySetHash: hash,
			Policy:        Policy{Status: Allowed},
			Capability: Capability{Status: Granted, Grant: Grant{
				GrantID: "reader-1", ToolID: "reader",
				FS:             &FSGrant{ReadPaths: []string{"/fixtures"}, WritePaths: []string{"/fixtures/out"}},
				Net:            &NetGrant{HTTP: []HTTPGrant{{Host: "api.example.com", Methods: []string{"GET"}, Ports: []uint16{443}}}},
				MaxMemoryBytes: 1 << 20, MaxOutputBytes: 1 << 20, MaxWallMS: 5000,
			}},
			Execution: e,
		}
	}
	lines := []struct {
		tool, request string
		outcome       Outcome
	}{
		{"smoke", "deadbeef", refused(Policy{Status: Denied, Reason: "blocked in test"}, Axes{
			Capability: text("fs.read"), Role: text("ops"), Session: text("sess-golden"), MatchedRule: "block-smoke",
			FS: &FSAxis{PathRaw: "./notes.md", PathCanonical: "/fixtures/notes.md"},
		})},
		{"chatty", "cafebabe", refused(Policy{Status: RateLimited, Reason: "rate limit exceeded: 2 per 60s"}, Axes{})},
		{"dream", "feedface", refused(Policy{Status: PendingApproval, ApprovalID: "apr-gate-dream-1"}, Axes{})},
		{"missing", "baadf00d", Outcome{
			PolicySetHash: hash,
			Policy:        Policy{Status: Allowed},
			Capability:    Capability{Status: Denied, DeniedCapability: "tool.registry", Reason: "tool not registered: missing"},
			Execution:     Execution{Status: HostDenied, Reason: "capability denied"},
		}},
		{"reader", "decafbad", ran(Execution{Status: Trap, Message: "guest trapped: unreachable"})},
		{"reader", "0badf00d", ran(Execution{Status: ResourceExceeded, Kind: "wall_clock"})},
	}
	// The published Session holds the intent of the first fixture alone, so that
	// Lines are placed one by one here, below Begin and End.
	place := func(line Line) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		if _, err := w.append(line); err != nil {
			t.Fatal(err)
		}
	}
	call := func(n int, tool, request string) *Call {
		return &Call{w: w, intent: Intent{CallID: fmt.Sprintf("call-golden-%d", n), ToolID: tool, RequestDigest: digest(request)}, known: Unevaluated(hash)}
	}
	place(&call(0, "smoke", "c0ffee").intent)
	for i, l := range lines {
		place(call(i+1, l.tool, l.request).outcome(l.outcome))
	}
	func() {
		defer func() { recover() }()
		defer call(7, "panic", "dead10cc").Release()
		panic("a tool")
	}()
	call(8, "abandoned", "0ab0ab0a").Release()
	if err := w.Decide("apr-gate-dream-1", Verdict{Approved: true, Scope: Scope{ToolID: "dream", FS: &FSGrant{ReadPaths: []string{"/fixtures"}, WritePaths: []string{}}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(Close{}); err != nil {
		t.Fatal(err)
	}
	got, want := bytes.Split(sink.Bytes(), []byte("\n")), bytes.Split(goldenSession(t), []byte("\n"))
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("line %d\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

// Every published Line is read into its type and, written from it, is the same.
func TestParseLineRoundTrip(t *testing.T) {
	for _, name := range golden {
		text := readVector(t, "golden/"+name+".json")
		line, err := ParseLine(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := marshalLine(line)
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, again, text)
		}
	}
}

func marshalLine(line Line) ([]byte, error) {
	text, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	return Canonicalize(text)
}

// The values of the specification's section 11.2.
func TestPublishedLineHashes(t *testing.T) {
	for name, want := range map[string]string{
		"session_open": "ace4118a6a4ec1bf47503431aaa769ebb74de9c61174bf64470561a99abf4066",
		"intent":       "5d923c33bede5bef42ee41556fed00fa0660ab30feb57355b3316a2263ffa7f9",
	} {
		hash, err := lineHash(readVector(t, "golden/"+name+".json"))
		if err != nil || hash.String() != want {
			t.Errorf("%s: %s, %v; want %s", name, hash, err, want)
		}
	}
	if sum := sha256.Sum256([]byte("c0ffee")); hex.EncodeToString(sum[:]) != "fb0288872031fc4818c03a7253bd3a78de192d05e6bccd09ceabeda65b4d7c6f" {
		t.Error("the request digests of the golden Session are of ASCII strings")
	}
}
