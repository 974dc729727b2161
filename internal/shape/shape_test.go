package shape

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

func TestSpellingsAreTakenBack(t *testing.T) {
	t.Parallel()
	for _, s := range All() {
		for name, by := range map[string]func(string) (Shape, bool){s.Key(): ByKey, s.Capability(): ByCapability, s.Axis(): ByAxis} {
			if got, ok := by(name); !ok || got != s {
				t.Errorf("%s is read as %v, %v", name, got, ok)
			}
			if _, ok := by(name + "s"); ok {
				t.Errorf("%ss is known", name)
			}
		}
	}
}

func TestSet(t *testing.T) {
	t.Parallel()
	var set Set
	if set.Shapes() != nil {
		t.Error("the zero Set has members")
	}
	set = set.With(SQLQuery).With(FilesystemWrite).With(SQLQuery)
	if got := set.Shapes(); !slices.Equal(got, []Shape{FilesystemWrite, SQLQuery}) {
		t.Error(got)
	}
	for _, s := range All() {
		if set.Has(s) != (s == FilesystemWrite || s == SQLQuery) {
			t.Error(s)
		}
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, segments, contract string }{
		{"read_file", "read file", ""},
		{"readFile", "read file", ""},
		{"ReadFile", "read file", ""},
		{"READ_FILE", "read file", ""},
		{"HTTPGet", "http get", ""},
		{"URLFetch", "url fetch", ""},
		{"getURL", "get url", ""},
		{"a.b-c__d", "a b c d", ""},
		{"_", "", ""},
		{"", "", ""},
		{"shelter", "shelter", ""},
		{"web hook", "web hook", ""},
		{"aB", "a b", ""},
		{"AB", "ab", ""},
		{"ABc", "a bc", ""},
		{"écoleFile", "école file", ""},
		// Digits are words of their own, but not in the contract.
		{"file2path", "file 2 path", "file2path"},
		{"path1", "path 1", "path1"},
		{"getURL2", "get url 2", "get url2"},
		{"v2Exec", "v 2 exec", "v2 exec"},
		// So are prefixes of hosts, which the contract does not know.
		{"mcp__fs__read/file:now", "mcp fs read file now", "mcp fs read/file:now"},
		{"caféFile", "café file", "caféfile"},
		{"a\xffexec", "a exec", "a\uFFFDexec"},
	} {
		want := tt.contract
		if want == "" {
			want = tt.segments
		}
		if got := strings.Join(Segments(tt.name), " "); got != tt.segments {
			t.Errorf("Segments(%q) = %q, want %q", tt.name, got, tt.segments)
		}
		if got := strings.Join(contractSegments(tt.name), " "); got != want {
			t.Errorf("contractSegments(%q) = %q, want %q", tt.name, got, want)
		}
	}
}

// tool writes a tool as its name and its properties, those that are not text
// marked with an exclamation mark.
func tool(line string) (string, []Property) {
	words := strings.Fields(line)
	var props []Property
	for _, w := range words[1:] {
		props = append(props, Property{Name: strings.TrimPrefix(w, "!"), Text: !strings.HasPrefix(w, "!")})
	}
	return words[0], props
}

func keys(set Set) string {
	var keys []string
	for _, s := range set.Shapes() {
		keys = append(keys, s.Capability())
	}
	return strings.Join(keys, " ")
}

func TestTheTwoReadings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, contract, policy string }{
		// A verb of the file system needs a path to do it to.
		{"write_file path content", "fs-write", "fs-write"},
		{"write x", "", ""},
		{"delete-thing target", "fs-write", "fs-write"},
		{"delete_user id", "", ""},
		{"read_file path", "fs-read", "fs-read"},
		{"list_items id", "", ""},
		{"get target", "", ""},
		// Or a path goes together with something to write there.
		{"store path content", "fs-write", "fs-write"},
		{"store dest payload", "fs-write", "fs-write"},
		{"store source payload", "", ""},
		{"store content", "", ""},
		{"store path contents", "", "fs-write"},
		// Commands, URLs and queries are known by either.
		{"bash x", "shell-exec", "shell-exec"},
		{"run command", "shell-exec", "shell-exec"},
		{"run !command", "", ""},
		{"bash !command", "shell-exec", "shell-exec"},
		{"run commander", "", ""},
		{"fetch x", "http-request", "http-request"},
		{"look !uri", "http-request", "http-request"},
		{"look target_url", "http-request", "http-request"},
		{"db x", "sql-query", "sql-query"},
		{"statement SQLText", "sql-query", "sql-query"},
		{"execute_command command", "shell-exec sql-query", "shell-exec sql-query"},
		{"multi url command path content query", "fs-write shell-exec http-request sql-query", "fs-write shell-exec http-request sql-query"},
		// More verbs and names than the contract's.
		{"edit_file path", "", "fs-write"},
		{"move_file source destination", "", "fs-write"},
		{"copy src dest", "", "fs-write fs-read"},
		{"copy source destination", "", "fs-write fs-read"},
		{"append_file path", "", "fs-write"},
		{"patch file", "", "fs-write"},
		{"truncate path", "", "fs-write"},
		{"put_object folder", "", "fs-write"},
		{"upload file", "", "fs-write fs-read"},
		{"post files", "", "fs-write"},
		{"post_message channel text", "", ""},
		{"read_many paths", "", "fs-read"},
		{"load sources", "", "fs-read"},
		{"list dir", "", "fs-read"},
		{"list workingDirectory", "", "fs-read"},
		{"diff path1 path2", "", "fs-read"},
		{"crawl urls", "", "http-request"},
		{"run commands", "", "shell-exec"},
		{"batch queries", "", "sql-query"},
		// A path that nothing else claims is read.
		{"tree path", "", "fs-read"},
		{"read filepath", "", "fs-read"},
		{"translate source target", "", ""},
	} {
		name, props := tool(tt.tool)
		if got := keys(RecogniseContract(name, props)); got != tt.contract {
			t.Errorf("contract, %s: %q, want %q", tt.tool, got, tt.contract)
		}
		if got := keys(Recognise(name, props)); got != tt.policy {
			t.Errorf("policy, %s: %q, want %q", tt.tool, got, tt.policy)
		}
	}
}

// The tools of @modelcontextprotocol/server-filesystem, -memory and
// -everything as they declare themselves. Three of them have a word of the
// contract's table in a name that means something else (query, request): a
// shape denies what it cannot read, and a binding says what it is.
func TestToolsOfTheReferenceServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, contract, policy string }{
		{"read_file path !tail !head", "fs-read", "fs-read"},
		{"read_text_file path !tail !head", "fs-read", "fs-read"},
		{"read_media_file path", "fs-read", "fs-read"},
		{"read_multiple_files paths", "", "fs-read"},
		{"write_file path content", "fs-write", "fs-write"},
		{"edit_file path !edits !dryRun", "", "fs-write"},
		{"create_directory path", "fs-write", "fs-write"},
		{"list_directory path", "fs-read", "fs-read"},
		{"list_directory_with_sizes path sortBy", "fs-read", "fs-read"},
		{"directory_tree path excludePatterns", "", "fs-read"},
		{"move_file source destination", "", "fs-write"},
		{"search_files path pattern excludePatterns", "", "fs-read"},
		{"get_file_info path", "fs-read", "fs-read"},
		{"list_allowed_directories", "", ""},

		{"create_entities !entities", "", ""},
		{"create_relations !relations", "", ""},
		{"add_observations !observations", "", ""},
		{"delete_entities entityNames", "", ""},
		{"delete_observations !deletions", "", ""},
		{"delete_relations !relations", "", ""},
		{"read_graph", "", ""},
		{"search_nodes query", "sql-query", "sql-query"},
		{"open_nodes names", "", ""},

		{"echo message", "", ""},
		{"get-annotated-message messageType !includeImage", "", ""},
		{"get-env", "", ""},
		{"get-resource-links !count", "", ""},
		{"get-resource-reference resourceType !resourceId", "", ""},
		{"get-structured-content location", "", ""},
		{"get-sum !a !b", "", ""},
		{"get-tiny-image", "", ""},
		{"gzip-file-as-resource name data outputType", "", ""},
		{"toggle-simulated-logging", "", ""},
		{"toggle-subscriber-updates", "", ""},
		{"trigger-long-running-operation !duration !steps", "", ""},
		{"simulate-research-query topic !ambiguous", "sql-query", "sql-query"},
		{"trigger-sampling-request prompt !maxTokens", "http-request", "http-request"},
	} {
		name, props := tool(tt.tool)
		if got := keys(RecogniseContract(name, props)); got != tt.contract {
			t.Errorf("contract, %s: %q, want %q", tt.tool, got, tt.contract)
		}
		if got := keys(Recognise(name, props)); got != tt.policy {
			t.Errorf("policy, %s: %q, want %q", tt.tool, got, tt.policy)
		}
	}
}

func TestTakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ property, shapes string }{
		{"path", "fs-write fs-read"},
		{"FILE_NAME", "fs-write fs-read"},
		{"paths", "fs-write fs-read"},
		{"directory", "fs-write fs-read"},
		{"source", "fs-write fs-read"},
		{"sources", "fs-write fs-read"},
		{"destination", "fs-write"},
		{"target", "fs-write"},
		{"target_url", "fs-write http-request"},
		{"cmd", "shell-exec"},
		{"shellScript", "shell-exec"},
		{"hostname", "http-request"},
		{"urls", "http-request"},
		{"sql", "sql-query"},
		{"statements", "sql-query"},
		{"pAth", "fs-write fs-read"},
		{"file_PaTh", "fs-write fs-read"},
		{"ſource", "fs-write fs-read"},
		{"content", ""},
		{"pathological", ""},
	} {
		var got Set
		for _, s := range All() {
			if s.Takes(tt.property) {
				got = got.With(s)
			}
		}
		if keys(got) != tt.shapes {
			t.Errorf("%s: %q, want %q", tt.property, keys(got), tt.shapes)
		}
	}
}

func lines[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	for in := bufio.NewScanner(f); in.Scan(); {
		var line T
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", file)
	}
	return all
}

// The peer wrote its locks by the same table: no capability may differ.
func TestCapabilitiesEqualThePeers(t *testing.T) {
	t.Parallel()
	for _, line := range lines[struct {
		Case, Tool   string
		Properties   map[string]any
		Capabilities []string
	}](t, "testdata/peer/capabilities.jsonl") {
		var props []Property
		for name, declared := range line.Properties {
			props = append(props, Property{Name: name, Text: declared == nil || declared == "string"})
		}
		var got []string
		for _, s := range RecogniseContract(line.Tool, props).Shapes() {
			got = append(got, s.Capability())
		}
		slices.Sort(got)
		if !slices.Equal(got, line.Capabilities) {
			t.Errorf("%s, %s: %v, the peer has %v", line.Case, line.Tool, got, line.Capabilities)
		}
	}
}

// Of a call, ours sees every shape the peer's policy judged, and one more: the
// peer takes no notice of a tool's name when it judges a call without a lock.
func TestCallsHaveThePeersShapes(t *testing.T) {
	t.Parallel()
	more := map[string]string{"exec_it": "shell-exec"}
	for _, line := range lines[struct {
		Note, Tool string
		Properties map[string]string
		Shapes     []string
	}](t, "testdata/peer/calls.jsonl") {
		var props []Property
		for name, value := range line.Properties {
			props = append(props, Property{Name: name, Text: value == "str" || value == "list"})
		}
		want := strings.NewReplacer("filesystem", "fs", "none", "").Replace(strings.Join(line.Shapes, " "))
		if extra, ok := more[line.Tool]; ok {
			want = extra
		}
		var got []string
		for _, s := range Recognise(line.Tool, props).Shapes() {
			got = append(got, s.Capability())
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", line.Note, got, want)
		}
	}
}

var anyName = rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{
	"read", "Write", "EXEC", "path", "File", "URL", "query", "content", "K", "ſ", "é", "2", "_", "-", ".", " ", "s", "A",
}), 0, 6), func(parts []string) string { return strings.Join(parts, "") }))

// A policy sees at least what the lock says.
func TestPolicySeesAllTheContractSees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := anyName.Draw(t, "tool")
		var props []Property
		for _, p := range rapid.SliceOfN(anyName, 0, 4).Draw(t, "properties") {
			props = append(props, Property{Name: p, Text: rapid.Bool().Draw(t, "text")})
		}
		contract, policy := RecogniseContract(name, props), Recognise(name, props)
		if contract&^policy != 0 {
			t.Fatalf("the contract sees %s, a policy %s", keys(contract), keys(policy))
		}
		// One more property never hides a shape, but that a write makes the
		// reading of an unclaimed path superfluous.
		more := Recognise(name, append(props, Property{Name: anyName.Draw(t, "more"), Text: true}))
		if lost := policy &^ more; lost != 0 && (lost != Set(0).With(FilesystemRead) || !more.Has(FilesystemWrite)) {
			t.Fatalf("%s lost to %s", keys(policy), keys(more))
		}
	})
}

// FuzzSegments: segments are not empty, hold no separator, keep the order of
// the name and lose none of its letters.
func FuzzSegments(f *testing.F) {
	for _, name := range []string{"", "readFile", "HTTPGet", "file2path", "a..b__C", "\xff", "écoleÉ", "aB\x1cK"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, reading := range []func(rune) kind{house, contract} {
			kept := strings.Map(func(r rune) rune {
				if reading(r) == separator {
					return -1
				}
				return r
			}, name)
			joined := ""
			for _, s := range split(name, reading) {
				if s == "" || strings.ContainsAny(s, "_-. ") {
					t.Fatalf("%q: segment %q", name, s)
				}
				joined += s
			}
			if want := strings.ToLower(kept); joined != want {
				t.Fatalf("%q: %q, want %q", name, joined, want)
			}
		}
	})
}

func BenchmarkRecognise(b *testing.B) {
	name, props := tool("write_multiple_files path content encoding mode overwrite")
	b.ReportAllocs()
	for b.Loop() {
		Recognise(name, props)
	}
}

func BenchmarkRecogniseDoubling(b *testing.B) {
	for kib := 1; kib <= 1024; kib *= 2 {
		props := []Property{{Name: strings.Repeat("aB", kib<<9)}}
		b.Run(strconv.Itoa(kib)+"KiB", func(b *testing.B) {
			b.SetBytes(int64(kib << 10))
			for b.Loop() {
				Recognise("read", props)
			}
		})
	}
}
